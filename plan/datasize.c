/* SPDX-License-Identifier: Apache-2.0 */
/* Size of data set that MLPerf Storage requires: see datasize.h. */
#include "plan/datasize.h"

#include <math.h>
#include <string.h>

#include "plan/option_ref.h"
#include "workloads/dataset/dataset.h"

/* MLPerf Storage rounds files down, so a data set that it accepts may be short of a step, or of its
 * memory's last file. */
static uint64_t datasize_files(double a, double b)
{
	double files = floor(a / b);

	return files < 1 ? 1 : (uint64_t)files;
}

/* Counts the folders that the names of the data set make. There are none where a template or a list
 * gives the names. */
static void count_folders(const struct dataset *d, struct datasize *out)
{
	if (d->naming >= NAMING_TEMPLATE)
		return;
	out->folders = d->options.subfolders ? d->options.subfolders : 1;
	out->files_per_folder = (d->options.files + out->folders - 1) / out->folders * d->objects;
}

static void count_files(const struct plan *plan, uint32_t ranks, uint64_t batch,
			const struct dataset *d, struct datasize *out)
{
	double file = (double)d->options.samples_per_file * (double)d->options.sample_bytes;
	double samples = plan->sizes.steps * (double)ranks * (double)batch;
	double memory = plan->sizes.memories * (double)plan->nodes * plan->node_memory_bytes;

	out->has = d->options.files;
	out->files_steps = datasize_files(samples, (double)d->options.samples_per_file);
	out->files_memory = datasize_files(memory, file);
	out->files = out->files_steps > out->files_memory ? out->files_steps : out->files_memory;
	out->bytes = dataset_bytes_expected(d) / (double)d->options.files * (double)out->files;
	out->advised_folders =
		out->files > DATASIZE_FOLDER_FILES ? out->files / DATASIZE_FOLDER_FILES : 0;
	/* As generate counts them: the manifest, and the folders, as many as are set or advised. */
	out->inodes = out->files * d->objects + 1 +
		      (out->advised_folders > d->options.subfolders ? out->advised_folders
								    : d->options.subfolders);
}

bool datasize_of(const struct plan *plan, const struct job *job, const struct plan_phase *phase,
		 struct datasize *out)
{
	const struct job_phase *p = phase->phase;
	const struct backend_ops *ops;
	struct option_ref name, batch;
	struct dataset d;

	memset(out, 0, sizeof(*out));
	if (!phase->demand.epochs || plan->sizes.steps <= 0 ||
	    !option_find(p->section, p->options, p->path, "dataset", OPTION_TEXT, &name) ||
	    !option_find(p->section, p->options, p->path, "batch", OPTION_U64, &batch) ||
	    dataset_find(job, p, name.value, &out->dataset, &out->store, NULL) < 0)
		return false;
	ops = out->store->section->owner;
	if (!(ops->capabilities & BACKEND_CONTENT) || !(ops->capabilities & BACKEND_PERSISTENT) ||
	    dataset_init(&d, out->dataset->options, job->seed, "", NULL) < 0)
		return false;
	count_folders(&d, out);
	count_files(plan, phase->ranks, *(const uint64_t *)batch.value, &d, out);
	return true;
}
