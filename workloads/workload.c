#include "workloads/workload.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "workloads/dataset/dataset.h"

int workload_tally(const struct workload *w, const struct job_phase *phase, struct arena *arena,
		   struct tally *tally, struct err *err)
{
	const struct tally_schema *schema = w->schema;

	if (w->schema_for)
		schema = w->schema_for(phase, arena);
	if (!schema)
		return err_set(err, -ENOMEM, "no memory for the tables of a phase");
	return tally_init(tally, schema, err);
}

struct tally *workload_part(struct phase_context *ctx, const char *kind, const char *name,
			    const struct tally_schema *schema, const char *store, struct err *err)
{
	if (ctx->part)
		return ctx->part(ctx, kind, name, schema, store, err);
	err_set(err, -ENOTSUP, "no results are kept of %s", kind);
	return NULL;
}

int workload_dataset(const struct job *job, const struct job_phase *phase, const char *dataset,
		     const struct job_dataset **d, const struct job_store **s, struct err *err)
{
	const struct dataset_options *options;
	const char *store = phase->store;

	if (!dataset[0] && job->dataset_count == 0)
		return err_set(err, -EINVAL, "%s: needs a data set; describe it in \"dataset\"",
			       phase->path);
	*d = !dataset[0] && job->dataset_count == 1 ? &job->datasets[0]
						    : job_find_dataset(job, dataset);
	if (!*d && !dataset[0])
		return err_set(
			err, -EINVAL,
			"%s: says not which data set; add \"dataset\": \"%s\" or another name",
			phase->path, job->datasets[0].name);
	if (!*d)
		return err_set(err, -EINVAL, "%s/dataset: there is no data set \"%s\"", phase->path,
			       dataset);
	options = (*d)->options;
	if (!store[0])
		store = options->store;
	if (!store[0] && job->store_count == 1)
		store = job->stores[0].name;
	if (!store[0])
		return err_set(err, -EINVAL,
			       "%s: says not which store; add \"store\" to the data set",
			       phase->path);
	*s = job_find_store(job, store);
	if (!*s)
		return err_set(err, -EINVAL, "%s: there is no store \"%s\"", phase->path, store);
	return 0;
}

struct phase_store *phase_store_add(struct phase_store out[PHASE_STORES_MAX], uint32_t *count,
				    const char *role, const struct job_store *store)
{
	struct phase_store *s = &out[(*count)++];

	memset(s, 0, sizeof(*s));
	snprintf(s->role, sizeof(s->role), "%s", role);
	s->store = store;
	return s;
}

void workload_say(struct phase_context *ctx, const char *format, ...)
{
	size_t used = strlen(ctx->message);
	va_list arguments;

	if (used)
		used += (size_t)snprintf(ctx->message + used, sizeof(ctx->message) - used, "; ");
	if (used >= sizeof(ctx->message))
		return;
	va_start(arguments, format);
	vsnprintf(ctx->message + used, sizeof(ctx->message) - used, format, arguments);
	va_end(arguments);
}

int workload_store_open(const struct phase_context *ctx, const struct job_store *described,
			struct store *store, struct err *err)
{
	int rc = store_open(store, described, ctx->place, ctx->node, ctx->clock, ctx->log,
			    ctx->job->seed, err);

	if (rc == 0)
		store->op_log = ctx->op_log;
	if (rc == 0 && ctx->stores)
		store_describe(store, described, &ctx->stores[described - ctx->job->stores]);
	return rc;
}
