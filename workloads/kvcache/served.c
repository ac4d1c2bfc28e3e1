/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are being served: see served.h. */
#include "workloads/kvcache/served.h"

#include <errno.h>
#include <stdlib.h>

int kv_serving_open(struct kv_serving *v, const struct kv_setup *setup, struct err *err)
{
	const struct kv_source_options *o = &setup->source;

	v->credits = setup->options->allocations;
	v->all = calloc(setup->served, sizeof(*v->all));
	v->generating.items = calloc(setup->served, sizeof(*v->generating.items));
	if (!v->all || !v->generating.items)
		return err_set(err, -ENOMEM, "no memory for %u requests at a time", setup->served);
	for (uint32_t i = 0; i < setup->served; i++)
		list_append(&v->free, &v->all[i].link);
	/* Classes of the same priority are served alike. */
	for (uint32_t i = 0; i < o->class_count; i++)
		for (uint32_t k = 0; k < o->class_count; k++)
			v->class_rank[i] += o->classes[k].priority > o->classes[i].priority;
	return 0;
}

void kv_serving_close(struct kv_serving *v)
{
	free(v->all);
	free(v->generating.items);
}

void kv_served_begin(struct kv_serving *v, const struct kv_source *source,
		     const struct kv_request *request, uint64_t now_ns)
{
	struct kv_served *s = kv_served_next(&v->free);

	*s = (struct kv_served){.request = *request, .served_ns = now_ns};
	kv_steps_begin(&s->steps, source, &s->request);
	list_append(&v->ready, &s->link);
	v->busy++;
}

void kv_served_free(struct kv_serving *v, struct kv_served *s)
{
	list_prepend(&v->free, &s->link);
	v->busy--;
}

struct kv_served *kv_served_next(struct list *list)
{
	struct list_link *link = list_take(list);

	return link ? list_member(link, struct kv_served, link) : NULL;
}

void kv_served_park(struct kv_serving *v, struct kv_served *s, uint64_t now_ns)
{
	s->asked_ns = now_ns;
	list_append(&v->parked, &s->link);
}

void kv_served_give_credit(struct kv_serving *v, struct kv_served *s)
{
	struct kv_served *parked;

	if (!s->credit)
		return;
	s->credit = false;
	v->credits++;
	parked = kv_served_next(&v->parked);
	if (parked)
		list_append(&v->ready, &parked->link);
}

void kv_served_ended(struct kv_serving *v, struct kv_served *s, uint64_t now_ns)
{
	s->storage_ns += now_ns - s->asked_ns;
	kv_served_give_credit(v, s);
	list_append(&v->ready, &s->link);
}

static bool ends_before(const void *a, const void *b)
{
	const struct kv_served *one = a, *other = b;

	return one->ends_ns < other->ends_ns;
}

void kv_served_generate(struct kv_serving *v, struct kv_served *s, uint64_t ends_ns)
{
	s->ends_ns = ends_ns;
	heap_add(&v->generating, s, ends_before);
}

uint64_t kv_served_due(const struct kv_serving *v)
{
	const struct kv_served *first = v->generating.count ? v->generating.items[0] : NULL;

	return first ? first->ends_ns : UINT64_MAX;
}

struct kv_served *kv_served_generated(struct kv_serving *v, uint64_t now_ns)
{
	if (!v->generating.count || kv_served_due(v) > now_ns)
		return NULL;
	return heap_take(&v->generating, ends_before);
}

struct waiting_request {
	struct list_link link;
	struct kv_request request;
};

int kv_waiting_add(struct kv_waiting *w, uint32_t rank, const struct kv_request *request)
{
	struct waiting_request *waits = kv_pool_take(&w->pool, sizeof(*waits));

	if (!waits)
		return -ENOMEM;
	waits->request = *request;
	list_append(&w->line[rank], &waits->link);
	w->most = max_u32(++w->count, w->most);
	return 0;
}

bool kv_waiting_take(struct kv_waiting *w, struct kv_request *out)
{
	struct list_link *link = NULL;
	struct waiting_request *waits;

	for (uint32_t i = 0; w->count && !link && i < KV_CLASSES_MAX; i++)
		link = list_take(&w->line[i]);
	if (!link)
		return false;
	waits = list_member(link, struct waiting_request, link);
	*out = waits->request;
	kv_pool_give(&w->pool, waits);
	w->count--;
	return true;
}
