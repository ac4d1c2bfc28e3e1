/* SPDX-License-Identifier: Apache-2.0 */
/* Input of a pass: see state.h. */
#include "workloads/train/state.h"

#include "workloads/dataset/dataset_probe.h"
#include "workloads/dataset/manifest.h"
#include "workloads/train/train.h"

static void cold_file_key(const void *dataset, uint64_t file, uint32_t part,
			  char key[OBJECT_KEY_BYTES])
{
	dataset_object_key(dataset, file, part, key);
}

struct cold_objects train_input_objects(const struct train_input *in)
{
	return (struct cold_objects){&in->store, in->dataset.options.files, in->dataset.objects,
				     cold_file_key, &in->dataset};
}

/* With direct I/O, a buffer also holds the blocks around a request. */
static void train_input_sizes(const struct train_options *o, struct train_input *in)
{
	uint64_t budget = train_buffer_bytes(o, in->depth), bytes, buffer;
	uint64_t range = store_range(&in->store, train_longest(o, &in->dataset), in->depth);

	train_sizes(o, &in->dataset, in->store.ops->capabilities, range, budget, &in->sizes);
	bytes = in->sizes.buffer;
	buffer = queue_buffer_bytes(&in->store, bytes);
	if (buffer > budget && buffer - bytes < bytes)
		train_sizes(o, &in->dataset, in->store.ops->capabilities, range,
			    budget - (buffer - bytes), &in->sizes);
}

int train_input_open(struct phase_context *ctx, const char *name, struct train_input *in,
		     struct err *err)
{
	const struct train_options *o = ctx->phase->options;
	const struct job_store *store = NULL;
	struct rank_place place = *ctx->place;
	struct phase_context opener = *ctx;
	struct replicas replicas;
	int rc;

	rc = train_dataset(ctx->job, ctx->phase, name, &in->dataset, &store, err);
	rc = group_agree(ctx->group, rc, err);
	if (rc < 0)
		return rc;
	/* Endpoints are dealt out among the ranks that use them. */
	replicas_init(&replicas, o->readers, &ctx->job->cluster, ctx->group->size);
	place.endpoint = replicas_reader(&replicas, ctx->group->rank);
	opener.place = &place;
	rc = workload_store_open_to_read(&opener, store, &in->store, err);
	in->open = rc == 0;
	if (rc == 0)
		rc = dataset_open(&in->dataset, err);
	rc = group_agree(ctx->group, rc, err);
	if (rc == 0)
		rc = manifest_check(&in->dataset, &in->store, ctx->group, err);
	if (rc == 0)
		rc = dataset_find_index(&in->dataset, &in->store, ctx->group, err);
	if (rc < 0)
		return rc;
	in->depth = train_depth(o, store, &in->dataset);
	train_input_sizes(o, in);
	in->whole =
		store_can(&in->store, BACKEND_STREAMS) &&
		store_range(&in->store, train_longest(o, &in->dataset), in->depth) == UINT64_MAX;
	rc = dataset_probe(&in->dataset, &in->store, ctx->group, err);
	return rc < 0 ? rc
		      : dataset_count(&in->dataset, &in->store, ctx->group, o->count_ns, &in->proof,
				      err);
}

void train_input_close(struct train_input *in)
{
	if (!in->open)
		return;
	dataset_close(&in->dataset);
	store_close(&in->store);
}
