/* SPDX-License-Identifier: Apache-2.0 */
/* The loader of a rank in virtual time: that of workloads/train/loader/loader.h, of which only the order of work is left. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/train.h"

int model_loader_open(struct model_rank *r, struct err *err)
{
	const struct train_model *m = r->m;
	int rc = 0;

	r->readers = calloc(m->readers, sizeof(*r->readers));
	r->batches = calloc(m->batches, sizeof(*r->batches));
	r->parts = calloc((size_t)m->batches * m->parts, sizeof(*r->parts));
	r->queues = calloc(m->queues, sizeof(*r->queues));
	if (!r->readers || !r->batches || !r->parts || !r->queues)
		return err_set(err, -ENOMEM, "no memory for the loaders of %u ranks", m->ranks);
	r->first_number = 1;
	for (uint32_t i = 0; i < m->readers && rc == 0; i++) {
		r->readers[i].rank = r;
		r->readers[i].index = i;
		rc = model_reader_open(&r->readers[i], err);
	}
	return rc;
}

void model_loader_close(struct model_rank *r)
{
	for (uint32_t i = 0; r->readers && i < r->m->readers; i++)
		if (r->readers[i].rank)
			model_reader_close(&r->readers[i]);
	free(r->readers);
	free(r->batches);
	free(r->parts);
	free(r->queues);
}

static struct model_part *model_parts_of(const struct model_rank *r, uint64_t k)
{
	return r->parts + k % r->m->batches * r->m->parts;
}

static void model_work_item(const struct model_rank *r, uint64_t item, uint64_t *from, uint64_t *to)
{
	const struct train_model *m = r->m;
	uint64_t i = item % m->batch_items, n;

	sequence_arrivals(&r->sequence, item / m->batch_items, from, to);
	if (m->o->loader.kind == LOADER_STREAM)
		return;
	n = *to - *from;
	*to = *from + n * (i + 1) / m->batch_items;
	*from += n * i / m->batch_items;
}

static void model_build(struct model_reader *w, uint64_t k, uint64_t from, uint64_t to)
{
	struct model_rank *r = w->rank;
	struct model_part *part = model_parts_of(r, k) + (r->m->parts > 1 ? w->index : 0);

	if (part->number != r->first_number + k)
		*part = (struct model_part){.number = r->first_number + k};
	w->part = part;
	model_reader_build(w, k, from, to);
}

/* The reader takes the next work item of its queue, if there is one and a credit for it. */
static void model_claim(struct model_reader *w)
{
	struct model_rank *r = w->rank;
	struct train_model *m = r->m;
	struct model_queue *q = &r->queues[w->index % m->queues];
	uint64_t item = q->next, from, to;

	w->waits = false;
	if (item >= r->steps * m->batch_items || !m->o->loader.workers)
		return;
	w->waits = !q->credits;
	if (w->waits)
		return;
	q->credits--;
	q->next += m->queues;
	model_work_item(r, item, &from, &to);
	model_build(w, item / m->batch_items, from, to);
}

void model_loader_ended(struct model_reader *w)
{
	struct model_rank *r = w->rank;
	struct model_batch *b = &r->batches[w->step % r->m->batches];
	bool filled = --b->left == 0;

	if (filled) {
		b->filled = true;
		b->last = w->index;
	}
	if (filled && r->awaited == w->step + 1)
		r->m->filled(r);
	model_claim(w);
}

void model_loader_begin(struct model_rank *r)
{
	const struct train_model *m = r->m;

	for (uint32_t i = 0; i < m->queues; i++)
		r->queues[i] = (struct model_queue){m->o->loader.prefetch * m->queue_items, i};
	for (uint32_t i = 0; i < m->batches; i++)
		r->batches[i] = (struct model_batch){.left = m->batch_items};
	for (uint32_t i = 0; i < m->readers; i++)
		model_reader_epoch(&r->readers[i]);
	for (uint32_t i = 0; i < m->readers; i++)
		model_claim(&r->readers[i]);
}

bool model_loader_take(struct model_rank *r, uint64_t k, struct model_part *out)
{
	const struct train_model *m = r->m;
	struct model_batch *b = &r->batches[k % m->batches];
	const struct model_part *parts = model_parts_of(r, k);
	uint64_t from, to;

	if (!b->filled && !m->o->loader.workers && b->left) {
		sequence_arrivals(&r->sequence, k, &from, &to);
		model_build(&r->readers[0], k, from, to);
		return false;
	}
	if (!b->filled)
		return false;
	*out = (struct model_part){0};
	for (uint32_t i = 0; i < m->parts; i++) {
		if (parts[i].number != r->first_number + k)
			continue;
		out->samples += parts[i].samples;
		out->failed += parts[i].failed;
		out->bytes += parts[i].bytes;
	}
	memcpy(out->blamed, parts[m->parts > 1 ? b->last : 0].blamed, sizeof(out->blamed));
	return true;
}

void model_loader_give(struct model_rank *r, uint64_t k)
{
	const struct train_model *m = r->m;
	bool every = m->o->loader.kind == LOADER_STREAM;

	r->batches[k % m->batches] = (struct model_batch){.left = m->batch_items};
	for (uint32_t i = 0; i < (every ? m->queues : 1); i++)
		r->queues[(k + i) % m->queues].credits += m->queue_items;
	for (uint32_t i = 0; i < m->readers && m->o->loader.workers; i++) {
		struct model_reader *w = &r->readers[(k + i) % m->readers];

		if (w->waits && r->queues[w->index % m->queues].credits)
			model_claim(w);
	}
}
