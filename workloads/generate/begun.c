#include "workloads/generate/begun.h"

#include <errno.h>
#include <inttypes.h>

#include "backends/queue/queue.h"
#include "backends/store.h"
#include "workloads/common/small_object.h"
#include "workloads/dataset/manifest.h"

/* A set that is larger than the job's data set is complete, or another job has to finish it first. */
static int begun_matches(struct begun *b, const struct manifest *m, const struct dataset *d,
			 const struct store *store, struct err *err)
{
	int rc = manifest_matches(m, d, store->uri, err);

	b->resumes = true;
	b->complete = m->complete;
	if (rc == 0 && m->dataset.files > d->options.files && !m->complete)
		rc = err_set(err, -EEXIST,
			     "%s%s%s: has a data set of %" PRIu64
			     " files that is not complete; finish it with the job that began it",
			     store->uri, d->options.folder[0] ? "/" : "", d->options.folder,
			     m->dataset.files);
	return rc;
}

/* What is there already is not the phase's work, and that nothing is there is not an error: the queue is not counted. */
static int begun_read(struct begun *b, uint64_t *set_files, const struct dataset *d,
		      struct store *store, struct err *err)
{
	const char *folder = d->options.folder;
	char name[OBJECT_KEY_BYTES];
	struct manifest m;
	struct queue q;
	int rc = queue_open(&q, store, 1, err);

	if (rc < 0)
		return rc;
	queue_unlogged(&q);
	rc = manifest_load(&m, &q, folder, err);
	if (rc == 0) {
		*set_files = m.dataset.files;
		rc = begun_matches(b, &m, d, store, err);
		manifest_free(&m);
	} else if (rc == -ENOENT) {
		rc = 0;
		b->empty = store_can(store, BACKEND_LIST) &&
			   folder_first(&q, folder, name, NULL) == 0 && !name[0];
	}
	queue_close(&q);
	return rc;
}

int begun_look(struct begun *b, struct dataset *d, struct store *store, struct group *group,
	       struct err *err)
{
	struct {
		struct begun begun;
		uint64_t set_files;
	} found = {.set_files = d->options.files};
	int rc = 0;

	if (group->rank == 0)
		rc = begun_read(&found.begun, &found.set_files, d, store, err);
	rc = group_agree(group, rc, err);
	if (rc == 0)
		rc = group_broadcast(group, &found, sizeof(found));
	if (rc < 0)
		return rc;
	*b = found.begun;
	dataset_in_set(d, found.set_files);
	return 0;
}
