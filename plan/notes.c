/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of a plan: see notes.h. */
#include "plan/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/units.h"
#include "plan/datasize.h"
#include "plan/option_ref.h"
#include "plan/space.h"

static void __attribute__((format(printf, 2, 3))) note(struct notes *n, const char *format, ...)
{
	char *text = n->text[n->count];
	va_list args;
	unsigned i;

	if (n->count == NOTES_MAX)
		return;
	va_start(args, format);
	vsnprintf(text, NOTE_BYTES, format, args);
	va_end(args);
	for (i = 0; i < n->count; i++)
		if (strcmp(n->text[i], text) == 0)
			return;
	n->count++;
}

/* Whether the page cache of a node may hold what is read. Only a store that keeps bytes can be
 * cached. */
static bool may_be_cached(const struct job *job, const struct job_dataset *d)
{
	const struct job_store *store = look_store(job, d->options);
	const struct backend_ops *ops = store ? store->section->owner : NULL;

	return ops && ops->capabilities & BACKEND_CONTENT && ops->capabilities & BACKEND_PERSISTENT;
}

static void note_memory_rule(struct notes *n, const struct plan *plan, const struct job *job)
{
	char bytes[UNITS_TEXT_BYTES], has[UNITS_TEXT_BYTES];
	double memory = plan->node_memory_bytes;
	uint32_t i;

	for (i = 0; memory > 0 && plan->sizes.memories > 0 && i < job->dataset_count; i++) {
		struct dataset d;
		double share;

		if (!may_be_cached(job, &job->datasets[i]) ||
		    dataset_init(&d, job->datasets[i].options, job->seed, "", NULL) < 0)
			continue;
		share = dataset_bytes_expected(&d) / plan->nodes;
		/* MLPerf rounds files down: one of them may be missing. */
		if (share + share / (double)d.options.files > plan->sizes.memories * memory)
			continue;
		units_bytes_decimal(bytes, share);
		units_bytes_binary(has, memory);
		note(n, "%s per node is less than %g × %s memory (%s): reads may come from caches",
		     bytes, plan->sizes.memories, plan->node_memory_told ? "its" : "this node's",
		     has);
	}
}

/* The rules count files, and round them down: an epoch of a data set that they accept may lack a
 * step, and that of a stream, whose files are dealt out whole, several. */
static void note_steps_rule(struct notes *n, const struct plan *plan, const struct job *job,
			    const struct plan_phase *p)
{
	uint64_t steps = p->demand.steps_per_epoch;
	char text[UNITS_COUNTED_BYTES];
	struct datasize s;

	if (!steps || (double)steps >= plan->sizes.steps ||
	    (datasize_of(plan, job, p, &s) && s.has >= s.files_steps))
		return;
	note(n, "%s per epoch: MLPerf wants %g", units_counted(text, steps, "step"),
	     plan->sizes.steps);
}

bool notes_files(char text[NOTE_BYTES], const struct job_dataset *dataset)
{
	const struct dataset_options *o = dataset->options;
	char path[DATASET_PATH_BYTES], told[UNITS_COUNTED_BYTES], files[UNITS_TEXT_BYTES];

	if (!o->files_told || o->files_told == o->files)
		return false;
	dataset_path(dataset, path);
	snprintf(text, NOTE_BYTES, "%s/files: says %s, and %s makes it %s, which wins", path,
		 units_counted(told, o->files_told, "file"),
		 o->files_per_rank ? "files_per_rank" : "steps_per_epoch",
		 units_count(files, o->files));
	return true;
}

static void note_unusual(void *notes, const char *where, const char *said)
{
	note(notes, "%s %s", where, said);
}

void notes_gather(struct notes *n, const struct plan *plan, const struct job *job)
{
	uint64_t tensor = job->cluster.tensor;
	double memory = plan->node_memory_bytes;
	char need[UNITS_TEXT_BYTES], has[UNITS_TEXT_BYTES];
	char told[UNITS_COUNTED_BYTES], files[NOTE_BYTES];
	uint32_t i, k;

	n->count = 0;
	if (!plan->phase_count)
		note(n, "the job has no phases: this will be refused");
	for (i = 0; i < plan->phase_count; i++) {
		note_steps_rule(n, plan, job, &plan->phases[i]);
		if (*plan->phases[i].told.note)
			note(n, "%s", plan->phases[i].told.note);
		for (k = 0; k < plan->phases[i].demand.note_count; k++)
			note(n, "%s", plan->phases[i].demand.notes[k]);
	}
	for (i = 0; i < job->dataset_count; i++)
		if (notes_files(files, &job->datasets[i]))
			note(n, "%s", files);
	for (i = 0; i < job->phase_count; i++)
		options_unusual(job->phases[i].section->tables, job->phases[i].options,
				job->phases[i].path, note_unusual, n);
	for (i = 0; i < job->store_count; i++) {
		char path[JOB_NAME_BYTES + 16];

		snprintf(path, sizeof(path), "/stores/%s", job->stores[i].name);
		options_unusual(job->stores[i].section->tables, job->stores[i].options, path,
				note_unusual, n);
	}
	if (plan->other_ranks_per_node)
		note(n, "the job asks for %s per node: run it with --set cluster.ranks_per_node=%u",
		     units_counted(told, plan->other_ranks_per_node, "rank"),
		     plan->ranks / plan->nodes);
	if (tensor & (tensor - 1))
		note(n, "tensor %llu is not a power of two", (unsigned long long)tensor);
	if (memory > 0 && (double)plan->memory_bytes_per_node > memory) {
		units_bytes_binary(need, (double)plan->memory_bytes_per_node);
		units_bytes_binary(has, memory);
		note(n, "buffers of %s per node are more than %s memory (%s)", need,
		     plan->node_memory_told ? "its" : "this node's", has);
	}
	note_memory_rule(n, plan, job);
	for (i = 0; i < plan->phase_count; i++) {
		const struct plan_phase *p = &plan->phases[i];

		for (k = 0; k < p->store_count; k++) {
			char text[SPACE_BYTES];
			bool lacking;

			if (plan->past || !space_sentence(&p->stores[k], text, &lacking) ||
			    !lacking)
				continue;
			/* A pool is full when the run finds it so: it may give space back late. */
			note(n, "not enough space for %s: %s", p->phase->name,
			     p->stores[k].told ? "the pool has less free"
					       : "the run will be refused");
		}
	}
}
