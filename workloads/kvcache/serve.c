/* Requests as they are served: each takes its steps one after the other, waits for the operations of a step, and at last for
 * its tokens.
 *
 *	due ──► waiting ──► served: step ──► operations ──► step ──► … ──► generation ──► done
 *	                             └─► parked, while others hold all credits ─┘ */
#include <errno.h>
#include <stdlib.h>

#include "workloads/kvcache/run.h"

static void serve_append(struct kv_run *r, struct kv_fifo *list, uint32_t number)
{
	r->served[number].next = KV_NONE;
	if (list->last == KV_NONE)
		list->first = number;
	else
		r->served[list->last].next = number;
	list->last = number;
}

static uint32_t serve_take(struct kv_run *r, struct kv_fifo *list)
{
	uint32_t number = list->first;

	if (number == KV_NONE)
		return KV_NONE;
	list->first = r->served[number].next;
	if (list->first == KV_NONE)
		list->last = KV_NONE;
	return number;
}

/* Classes of the same priority are served alike. */
static void serve_rank_classes(struct kv_run *r)
{
	const struct kv_source_options *o = &r->setup.source;

	for (uint32_t i = 0; i < o->class_count; i++)
		for (uint32_t k = 0; k < o->class_count; k++)
			r->class_rank[i] += o->classes[k].priority > o->classes[i].priority;
}

int kv_serve_open(struct kv_run *r, struct err *err)
{
	uint32_t count = r->setup.served;

	r->ready = r->parked = (struct kv_fifo){KV_NONE, KV_NONE};
	r->free = KV_NONE;
	r->credits = r->setup.options->allocations;
	r->served = calloc(count, sizeof(*r->served));
	r->alarms = calloc(count, sizeof(*r->alarms));
	if (!r->served || !r->alarms)
		return err_set(err, -ENOMEM, "no memory for %u requests at a time", count);
	for (uint32_t i = count; i-- > 0;) {
		r->served[i].next = r->free;
		r->free = i;
	}
	serve_rank_classes(r);
	return 0;
}

void kv_serve_close(struct kv_run *r)
{
	free(r->served);
	free(r->alarms);
	r->served = NULL;
	r->alarms = NULL;
	kv_waiting_free(&r->waiting);
}

static void serve_begin(struct kv_run *r, const struct kv_request *request)
{
	uint32_t number = r->free;
	struct kv_served *s = &r->served[number];

	r->free = s->next;
	r->busy++;
	*s = (struct kv_served){.request = *request, .served_ns = r->now_ns, .busy = true};
	kv_steps_begin(&s->steps, &r->source, &s->request);
	serve_append(r, &r->ready, number);
}

static void serve_free(struct kv_run *r, uint32_t number)
{
	struct kv_served *s = &r->served[number];

	s->busy = false;
	s->next = r->free;
	r->free = number;
	r->busy--;
}

/* The end of a generation, with the earliest one first. */
static void alarm_add(struct kv_run *r, uint64_t ns, uint32_t number)
{
	uint32_t at = r->alarm_count++;

	for (; at && r->alarms[(at - 1) / 2].ns > ns; at = (at - 1) / 2)
		r->alarms[at] = r->alarms[(at - 1) / 2];
	r->alarms[at] = (struct kv_alarm){ns, number};
}

static uint32_t alarm_take(struct kv_run *r)
{
	uint32_t number = r->alarms[0].served, at = 0, child;
	struct kv_alarm last = r->alarms[--r->alarm_count];

	while ((child = 2 * at + 1) < r->alarm_count) {
		if (child + 1 < r->alarm_count && r->alarms[child + 1].ns < r->alarms[child].ns)
			child++;
		if (r->alarms[child].ns >= last.ns)
			break;
		r->alarms[at] = r->alarms[child];
		at = child;
	}
	r->alarms[at] = last;
	return number;
}

static void serve_done(struct kv_run *r, uint32_t number)
{
	struct kv_served *s = &r->served[number];

	if (s->request.kind != KV_REQUEST_INGEST)
		kv_measure_request(r, s);
	serve_free(r, number);
}

void kv_serve_alarms(struct kv_run *r)
{
	while (r->alarm_count && (r->over || r->alarms[0].ns <= r->now_ns)) {
		uint32_t number = alarm_take(r);

		if (r->over)
			serve_free(r, number);
		else
			serve_done(r, number);
	}
}

/* All steps have been taken. */
static void serve_generate(struct kv_run *r, uint32_t number)
{
	const struct kv_request *q = &r->served[number].request;
	uint64_t ns = q->generate * r->setup.options->token_ns;

	if (ns && q->kind != KV_REQUEST_INGEST)
		alarm_add(r, r->now_ns + ns, number);
	else
		serve_done(r, number);
}

static void serve_give_credit(struct kv_run *r, struct kv_served *s)
{
	uint32_t number;

	if (!s->credit)
		return;
	s->credit = false;
	r->credits++;
	number = serve_take(r, &r->parked);
	if (number != KV_NONE)
		serve_append(r, &r->ready, number);
}

/* Only who makes room and writes needs a credit. Returns false where there is none. */
static bool serve_take_credit(struct kv_run *r, struct kv_served *s)
{
	if (!r->setup.options->allocations || s->step.kind != KV_STEP_WRITE || s->credit)
		return true;
	if (!r->credits)
		return false;
	r->credits--;
	s->credit = true;
	return true;
}

static void serve_found(struct kv_run *r, struct kv_served *s, bool hit)
{
	uint64_t *row = r->ctx->tally->rank_row;

	s->hit = hit;
	row[s->hit ? KV_HITS : KV_MISSES]++;
	row[(s->hit ? KV_HIT_PROMPT : KV_MISS_PROMPT) + s->step.cause]++;
}

/* Asks the tiers. Returns whether the step is done, and false where operations or questions are under way for it. */
static bool serve_ask(struct kv_run *r, uint32_t number)
{
	struct kv_served *s = &r->served[number];
	struct kv_id id = kv_sharing_id(r, s->step.id);
	uint64_t bytes;
	int rc = 0;

	r->asking = number;
	r->chain = KV_NONE;
	switch (s->step.kind) {
	case KV_STEP_READ:
		rc = kv_tiers_read(&r->tiers, id);
		if (rc != -EINPROGRESS)
			serve_found(r, s, rc >= 0);
		break;
	case KV_STEP_WRITE:
		bytes = kv_model_shard_most(&r->setup.model, s->step.tokens, r->setup.tensor);
		rc = kv_tiers_write(&r->tiers, id, bytes);
		break;
	case KV_STEP_DELETE:
		kv_tiers_delete(&r->tiers, id);
		break;
	}
	r->asking = KV_NONE;
	if (rc == -ENOMEM)
		r->rc = r->rc ? r->rc : rc;
	if (s->under_way) {
		s->asked_ns = r->now_ns;
		return false;
	}
	serve_give_credit(r, s);
	return true;
}

/* Takes steps until one has to wait. */
static void serve_go_on(struct kv_run *r, uint32_t number)
{
	struct kv_served *s = &r->served[number];

	while (!r->over) {
		if (s->parked)
			r->ctx->tally->rank_row[KV_CREDIT_NS] += r->now_ns - s->asked_ns;
		else if (!kv_steps_next(&s->steps, s->hit, &s->step)) {
			serve_generate(r, number);
			return;
		}
		s->parked = !serve_take_credit(r, s);
		if (s->parked) {
			s->asked_ns = r->now_ns;
			serve_append(r, &r->parked, number);
			return;
		}
		if (!serve_ask(r, number))
			return;
	}
	serve_give_credit(r, s);
	serve_free(r, number);
}

void kv_serve_ended(struct kv_run *r, uint32_t number)
{
	struct kv_served *s = &r->served[number];

	s->storage_ns += r->now_ns - s->asked_ns;
	serve_give_credit(r, s);
	serve_append(r, &r->ready, number);
}

void kv_serve_answered(struct kv_run *r, uint32_t number, bool read, int rc)
{
	struct kv_served *s = &r->served[number];

	if (read)
		serve_found(r, s, rc >= 0);
	if (rc == -ENOMEM)
		r->rc = r->rc ? r->rc : rc;
	if (--s->under_way == 0)
		kv_serve_ended(r, number);
}

bool kv_serve(struct kv_run *r)
{
	struct kv_request request;
	bool any = false;
	uint32_t number;

	while (!r->over && r->free != KV_NONE && kv_waiting_take(&r->waiting, &request))
		serve_begin(r, &request);
	while (r->over && (number = serve_take(r, &r->parked)) != KV_NONE)
		serve_free(r, number);
	while ((number = serve_take(r, &r->ready)) != KV_NONE) {
		serve_go_on(r, number);
		any = true;
	}
	return any;
}
