/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol of torch's distributed checkpoints: see run.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backends/queue/failure.h"
#include "workloads/checkpoint/metadata.h"
#include "workloads/checkpoint/run.h"
#include "workloads/common/small_object.h"

/* Under a temporary name, made durable where the store is asked for it, and renamed: the checkpoint is visible. */
static int protocol_write_metadata(struct checkpoint_run *r, struct err *err)
{
	char key[OBJECT_KEY_BYTES];
	struct checkpoint_file f;
	uint8_t *bytes = NULL;
	uint64_t length;
	int rc;

	if (!checkpoint_metadata_file(&r->shape, r->ctx->group->rank, &f))
		return 0;
	rc = checkpoint_metadata(&f, NULL, &length, err);
	if (rc == 0)
		bytes = malloc(length);
	if (rc == 0 && !bytes)
		rc = err_set(err, -ENOMEM, "no memory for metadata of %llu bytes",
			     (unsigned long long)length);
	if (rc == 0)
		rc = checkpoint_metadata(&f, bytes, &length, err);
	marker_file_key(r->options->folder, r->number, &f, key);
	if (rc == 0)
		rc = small_object_save_bytes(&r->side, key, bytes, length, err);
	free(bytes);
	return rc;
}

/* A pickle of this rank's own. *bytes NULL where there is no memory; the caller frees it. */
static int protocol_pickle(const struct checkpoint_run *r, enum metadata_kind kind, uint8_t **bytes,
			   uint64_t *length, struct err *err)
{
	uint64_t rank = r->ctx->group->rank;
	struct metadata_source of = {.dict = checkpoint_state_dict(&r->shape),
				     .archive = checkpoint_archive_kind(&r->shape),
				     .first = rank,
				     .end = rank + 1};
	int rc = metadata_pickle(&of, kind, NULL, length, err);

	*bytes = malloc(*length);
	if (rc == 0 && !*bytes)
		rc = err_set(err, -ENOMEM, "no memory for a plan of %llu bytes",
			     (unsigned long long)*length);
	return rc == 0 ? metadata_pickle(&of, kind, *bytes, length, err) : rc;
}

/* As torch gathers objects, and scatters them: all ranks learn the largest size, and each sends as many bytes. What the
 * coordinator would send back is as large, so the same bytes stand for it. */
static int protocol_send(struct checkpoint_run *r, const uint8_t *mine, uint64_t length,
			 bool scatters, struct err *err)
{
	struct group *g = r->ctx->group;
	uint64_t *row = r->ctx->tally->rank_row, most = length;
	uint8_t *padded = NULL, *all = NULL;
	int rc = group_allreduce(g, MERGE_MAX, &most, 1);

	if (rc == 0 && ((padded = calloc(1, most + 1)) == NULL ||
			(g->rank == 0 && (all = malloc(most * g->size)) == NULL)))
		rc = err_set(err, -ENOMEM, "no memory for the plans of %u ranks", g->size);
	rc = group_agree(g, rc, err);
	if (rc == 0 && padded) {
		memcpy(padded, mine, length);
		rc = group_gather(g, padded, most, all);
	}
	if (rc == 0 && scatters)
		rc = group_scatter(g, all, most, padded);
	row[CHECKPOINT_COLLECTIVES] += 1 + scatters;
	row[CHECKPOINT_COLLECTIVE_BYTES] += most;
	if (scatters && g->rank == 0)
		row[CHECKPOINT_COLLECTIVE_BYTES] += most * g->size;
	free(padded);
	free(all);
	return rc;
}

/* The messages have an account of their own, without what it takes to make the pickle. After them, the next account begins. */
static int protocol_exchange(struct checkpoint_run *r, enum metadata_kind kind, bool scatters,
			     enum account next, struct err *err)
{
	struct accounts *accounts = &r->repeat.accounts;
	uint64_t length = 0, began_ns;
	uint8_t *mine = NULL;
	int rc;

	account_switch(accounts, ACCOUNT_GENERATE, clock_now(r->store.clock));
	rc = protocol_pickle(r, kind, &mine, &length, err);
	account_switch(accounts, ACCOUNT_RANKS, clock_now(r->store.clock));
	rc = group_agree(r->ctx->group, rc, err);
	began_ns = clock_now(r->store.clock);
	account_switch(accounts, ACCOUNT_COLLECTIVES, began_ns);
	if (rc == 0)
		rc = protocol_send(r, mine, length, scatters, err);
	account_switch(accounts, next, clock_now(r->store.clock));
	r->ctx->tally->rank_row[CHECKPOINT_COLLECTIVE_NS] += accounts->since_ns - began_ns;
	free(mine);
	return rc;
}

static bool protocol_speaks(const struct checkpoint_run *r)
{
	return checkpoint_has_state_dict(&r->shape) &&
	       r->options->collectives != CHECKPOINT_COLLECTIVES_NONE;
}

int checkpoint_protocol_plan(struct checkpoint_run *r, struct err *err)
{
	int rc;

	if (!protocol_speaks(r) ||
	    (r->planned && r->options->collectives == CHECKPOINT_COLLECTIVES_CACHED))
		return 0;
	clock_sleep_until(r->store.clock, r->repeat.start_ns);
	rc = protocol_exchange(r, METADATA_PLAN, true, ACCOUNT_HAUL, err);
	r->planned = rc == 0;
	return rc;
}

int checkpoint_protocol_finish(struct checkpoint_run *r, enum stop_reason *stopped, struct err *err)
{
	int rc = 0;

	if (protocol_speaks(r))
		rc = protocol_exchange(r, METADATA_RESULTS, false, ACCOUNT_RANKS, err);
	if (rc == 0)
		rc = checkpoint_consolidate(r, stopped, err);
	return rc == 0 && *stopped == STOP_NONE ? protocol_write_metadata(r, err) : rc;
}

static int protocol_count_nothing(void *argument, const struct checkpoint_range *g)
{
	(void)argument;
	(void)g;
	return 0;
}

int checkpoint_protocol_needed(struct checkpoint_run *r, struct err *err)
{
	if (!checkpoint_has_state_dict(&r->shape)) {
		r->needed_bytes =
			checkpoint_restored_by(r->options, &r->shape, &r->readers, r->read_rank);
		return 0;
	}
	if (r->needed_bytes)
		return 0;
	return checkpoint_items(&r->shape, &r->readers, r->read_rank,
				(enum checkpoint_replicas)r->options->replicas, &r->needed_bytes,
				protocol_count_nothing, NULL) < 0
		       ? err_set(err, -ENOMEM, "no memory for the items that a rank reads")
		       : 0;
}

int checkpoint_protocol_load(struct checkpoint_run *r, struct err *err)
{
	uint64_t began_ns, rank = r->shape.rank_metadata ? r->read_rank : 0;
	char key[OBJECT_KEY_BYTES], *text = NULL;
	struct checkpoint_file f;
	size_t length;
	int rc;

	if (!r->keeps || !checkpoint_metadata_file(&r->shape, rank, &f))
		return 0;
	marker_file_key(r->options->folder, r->number, &f, key);
	clock_sleep_until(r->store.clock, r->repeat.start_ns);
	began_ns = clock_now(r->store.clock);
	rc = small_object_load(&r->side, key, PTRDIFF_MAX, &text, &length, err);
	free(text);
	r->ctx->tally->rank_row[CHECKPOINT_METADATA_READ_NS] +=
		clock_now(r->store.clock) - began_ns;
	return group_agree(r->ctx->group, rc, err);
}

int checkpoint_metadata_remove(struct checkpoint_run *r, uint64_t number, struct err *err)
{
	struct object o = {.size = 0};
	struct request req = {.op = REQ_DELETE, .object = &o, .own = true};
	struct checkpoint_file f;
	int rc = 0;

	if (!r->keeps || !checkpoint_has_metadata(&r->shape))
		return 0;
	if (checkpoint_metadata_file(&r->shape, r->ctx->group->rank, &f)) {
		marker_file_key(r->options->folder, number, &f, o.key);
		rc = queue_do(&r->side, &req);
	}
	if (rc < 0 && rc != -ENOENT)
		failure_set(err, rc, &r->store, &req, NULL);
	return group_agree(r->ctx->group, rc == -ENOENT ? 0 : rc, err);
}
