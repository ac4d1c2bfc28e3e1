/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a server, and removes what it has written: see server.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "workloads/common/clean.h"
#include "workloads/common/small_object.h"
#include "workloads/kvcache/objects.h"
#include "workloads/kvcache/serving/server.h"

int kv_server_spare(struct kv_server *s)
{
	struct kv_prompt *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	list_append(&s->spare, &p->link);
	return 0;
}

static int open_prefills(struct kv_server *s, const struct kv_setup *setup)
{
	uint32_t layers = s->options->layered ? (uint32_t)setup->model.layers : 1;
	int rc = 0;

	s->all = calloc(setup->served, sizeof(*s->all));
	s->timed.items = calloc(setup->served, sizeof(*s->timed.items));
	if (!s->all || !s->timed.items)
		return -ENOMEM;
	for (uint32_t i = 0; rc == 0 && i < setup->served; i++) {
		struct kv_prefill *f = &s->all[i];

		f->layers.count = layers;
		f->layers.bytes = (s->block_bytes + layers - 1) / layers;
		f->layers.at_ns = calloc(layers, sizeof(*f->layers.at_ns));
		rc = f->layers.at_ns ? 0 : -ENOMEM;
		list_append(&s->free, &f->link);
	}
	for (uint64_t i = 0; rc == 0 && i <= s->options->queue; i++)
		rc = kv_server_spare(s);
	return rc;
}

/* Blocks at most; of a capacity without a limit, all. */
static uint64_t open_room(const struct kv_server *s, uint64_t capacity)
{
	uint64_t block_bytes = s->block_bytes;

	if (s->slots)
		return kv_slots_count(s->slots, capacity, block_bytes);
	/* Not blocks have a limit, but buckets. */
	return capacity == KV_UNLIMITED || s->indexed ? UINT64_MAX : capacity / block_bytes;
}

static int open_blocks(struct kv_server *s, const struct kv_run *r)
{
	int rc = kv_lru_init(&s->memory, s->options->memory / s->block_bytes);

	if (rc == 0)
		rc = kv_lru_init(&s->written, open_room(s, r->setup.rules[0].capacity));
	if (rc == 0)
		rc = kv_lru_init(&s->queued, UINT64_MAX);
	if (rc == 0)
		rc = kv_lru_init(&s->starting.found, UINT64_MAX);
	s->pending_room = (uint32_t)s->options->pending;
	s->pending = calloc(s->pending_room + 1, sizeof(*s->pending));
	return rc == 0 && s->pending ? 0 : -ENOMEM;
}

int kv_server_open(struct kv_run *r, struct err *err)
{
	const struct kvcache_options *o = r->setup.options;
	const struct kv_server_options *so = &o->serving;
	uint32_t decode = (uint32_t)so->decode_ranks;
	const struct kv_prompts_how how = {.source = &r->setup.source,
					   .arrive = (enum kv_arrival_kind)so->arrive,
					   .rate = so->rate,
					   .block_tokens = so->block_tokens,
					   .context_max = so->context_max,
					   .seed = r->ctx->job->seed,
					   .part = decode ? r->ctx->group->rank % decode
							  : r->ctx->group->rank,
					   .parts = decode ? decode : r->ctx->group->size,
					   .path = r->ctx->phase->path};
	struct kv_server *s = calloc(1, sizeof(*s));
	int rc;

	r->server = s;
	if (!s)
		return err_set(err, -ENOMEM, "no memory for a server");
	s->options = so;
	if (decode)
		s->role = r->ctx->group->rank < decode ? KV_ROLE_PREFILL : KV_ROLE_DECODE;
	s->slots = r->setup.slots;
	s->indexed = s->slots || r->setup.buckets;
	s->together = 1;
	s->knows = s->indexed || !store_can(&r->stores[0], BACKEND_CONTENT);
	if (!s->knows && o->depth == 1)
		s->ahead = kv_worker_tasks(&r->setup) - 1;
	rc = kv_prompts_open(&s->prompts, &how, err);
	if (rc < 0)
		return rc;
	s->block_bytes = kv_model_bytes(&r->setup.model, s->prompts.block_tokens);
	if (s->block_bytes > r->setup.entry_bytes_most ||
	    (r->setup.buckets && s->block_bytes < r->setup.entry_bytes_most))
		return err_set(err, -EINVAL,
			       "%s/serving/block_tokens: the trace has blocks of %" PRIu64
			       " tokens; set it to that",
			       r->ctx->phase->path, s->prompts.block_tokens);
	if (so->fetch_bytes)
		s->fetches_most = max_u64(so->fetch_bytes / s->block_bytes, 1);
	if (open_prefills(s, &r->setup) < 0 || open_blocks(s, r) < 0 ||
	    (r->setup.buckets && kv_server_buckets_open(r) < 0))
		return err_set(err, -ENOMEM, "no memory for %u requests at a time",
			       r->setup.served);
	return 0;
}

static void close_prompts(struct list *list)
{
	struct list_link *link;

	while ((link = list_take(list))) {
		struct kv_prompt *p = list_member(link, struct kv_prompt, link);

		free(p->keys);
		free(p);
	}
}

void kv_server_close(struct kv_run *r)
{
	struct kv_server *s = r->server;

	if (!s)
		return;
	for (uint32_t i = 0; s->all && i < r->setup.served; i++) {
		free(s->all[i].prompt.keys);
		free(s->all[i].layers.at_ns);
	}
	close_prompts(&s->waiting);
	close_prompts(&s->spare);
	kv_prompts_close(&s->prompts);
	kv_lru_free(&s->memory);
	kv_lru_free(&s->written);
	kv_lru_free(&s->queued);
	kv_lru_free(&s->starting.found);
	kv_server_buckets_close(s);
	free(s->pending);
	free(s->timed.items);
	free(s->all);
	free(s);
	r->server = NULL;
}

static void remove_removed(void *argument, const struct request *req, uint64_t bytes)
{
	uint64_t *left = argument;

	(void)bytes;
	*left += request_failed(req) && req->answer.status != -ENOENT;
}

uint64_t kv_server_remove(struct kv_run *r)
{
	struct kv_server *s = r->server;
	struct batch_delete batch = {.count = 0};
	char key[OBJECT_KEY_BYTES];
	struct err ignored;
	uint64_t left = 0;

	if (s && s->slots)
		left = kv_server_file_remove(r);
	if (s && r->setup.buckets)
		left = kv_server_buckets_remove(r);
	if (s && !s->knows) {
		if (batch_delete_open(&batch, &r->side[0], remove_removed, &left, &ignored) < 0)
			return 1;
		for (uint32_t n = s->written.oldest; n != KV_NONE;
		     n = kv_lru_newer(&s->written, n)) {
			r->work.object_key(&r->work, 0, kv_lru_id(&s->written, n), key);
			batch_delete_add(&batch, key, s->block_bytes);
		}
		batch_delete_flush(&batch);
		batch_delete_close(&batch);
	}
	/* The ranks share the folders; whoever removes the last block of one finds it empty. */
	if (group_barrier(r->ctx->group) < 0)
		left++;
	for (uint64_t block; s && !s->knows && kv_lru_take(&s->written, &block);) {
		r->work.object_key(&r->work, 0, kv_block_id(block), key);
		kv_block_remove_folders(&r->work, &r->side[0], key);
	}
	if (group_barrier(r->ctx->group) < 0)
		left++;
	return left;
}
