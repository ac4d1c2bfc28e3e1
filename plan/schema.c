/* Job schema: the sections of every backend and every workload, in the order of their tables. See
 * plan.h. */
#include <assert.h>
#include <pthread.h>

#include "plan/plan.h"
#include "workloads/dataset/dataset.h"

enum { SECTIONS_MAX = 64 };

/* Written once, before anybody reads it. The tables are const but belong to three libraries, so the
 * compiler cannot put their sections into one list. */
static struct {
	pthread_once_t once;
	const struct section *stores[SECTIONS_MAX], *phases[SECTIONS_MAX];
	struct job_schema schema;
} assembled = {.once = PTHREAD_ONCE_INIT};

static void schema_assemble(void)
{
	const struct backend_ops *const *backend;
	const struct workload *const *workload;
	unsigned n;

	for (n = 0, backend = backend_table(); *backend; backend++) {
		assert(n + 1 < SECTIONS_MAX);
		assembled.stores[n++] = &(*backend)->section;
	}
	for (n = 0, workload = workload_table(); *workload; workload++) {
		assert(n + 1 < SECTIONS_MAX);
		assembled.phases[n++] = &(*workload)->section;
	}
	assembled.schema.stores = assembled.stores;
	assembled.schema.dataset = &dataset_section;
	assembled.schema.phases = assembled.phases;
}

const struct job_schema *plan_schema(void)
{
	pthread_once(&assembled.once, schema_assemble);
	return &assembled.schema;
}
