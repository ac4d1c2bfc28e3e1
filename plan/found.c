/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/found.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "core/file_read.h"
#include "plan/option_ref.h"
#include "plan/space.h"
#include "workloads/dataset/manifest.h"

const char *const found_names[] = {"unknown", "none", "begun", "complete", "other"};

static void found_refuse(struct there *f, const struct err *err)
{
	f->state = FOUND_OTHER;
	snprintf(f->why, sizeof(f->why), "%.*s", (int)sizeof(f->why) - 1, err->text);
}

/* As generate judges it. */
static void found_judge(struct there *f, const struct manifest *m, const struct dataset *d,
			const char *where)
{
	struct err err = {0};

	f->files = m->dataset.files;
	f->state = m->complete ? FOUND_COMPLETE : FOUND_BEGUN;
	if (manifest_matches(m, d, where, &err) == 0 && !m->complete &&
	    m->dataset.files > d->options.files)
		err_set(&err, -EEXIST,
			"%s: has a data set of %" PRIu64
			" files that is not complete; finish it with the job that began it",
			where, m->dataset.files);
	if (err.text[0])
		found_refuse(f, &err);
}

void found_look(const struct job *job, const struct job_dataset *described, struct there *f)
{
	const struct dataset_options *options = described->options;
	const struct job_store *store = look_store(job, options);
	char key[OBJECT_KEY_BYTES], path[SPACE_PATH_BYTES + OBJECT_KEY_BYTES], *text;
	struct err err = {0};
	struct space place = {0};
	struct manifest m;
	struct dataset d;
	size_t length;
	int rc;

	memset(f, 0, sizeof(*f));
	if (!store || dataset_is_existing(options) || !space_path(store, &place) ||
	    dataset_init(&d, options, job->seed, "", NULL) < 0)
		return;
	manifest_key(options->folder, key);
	snprintf(path, sizeof(path), "%s/%s", place.path, key);
	rc = file_read(path, MANIFEST_TEXT_MAX, &text, &length, &err);
	if (rc == -ENOENT || rc == -ENOTDIR) {
		f->state = FOUND_NONE;
		return;
	}
	if (rc == 0) {
		rc = manifest_parse(&m, text, length, &err);
		free(text);
	}
	if (rc != 0) {
		err_wrap(&err, rc, "%s", path);
		found_refuse(f, &err);
		return;
	}
	found_judge(f, &m, &d, place.path);
	manifest_free(&m);
}
