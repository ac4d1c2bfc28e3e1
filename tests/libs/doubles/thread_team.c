/* SPDX-License-Identifier: Apache-2.0 */
/* Team of a thread group: see thread_team.h. */
#include "tests/libs/doubles/thread_team.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/stop.h"

struct team_message {
	struct team_message *next;
	uint32_t from, to, channel;
	size_t bytes;
	uint8_t data[];
};

static struct team_message *message_new(uint32_t from, uint32_t to, const void *data, size_t bytes);
static struct team_message **message_find(struct team *t, uint32_t from, uint32_t to);
static void messages_free(struct team_message *m);

struct team *team_new(uint32_t size)
{
	struct team *t = calloc(1, sizeof(*t) + size * sizeof(t->left[0]));

	if (t == NULL)
		return NULL;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	t->size = size;
	t->seats = size;
	t->messages_end = &t->messages;
	t->letters_end = &t->letters;
	return t;
}

void team_free(struct team *t)
{
	if (t == NULL)
		return;
	messages_free(t->messages);
	messages_free(t->letters);
	while (t->blocks) {
		struct team_block *b = t->blocks;

		t->blocks = b->next;
		munmap(b->base, b->bytes);
		free(b);
	}
	free(t->round.data[0]);
	free(t->round.data[1]);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void team_leave(struct team *t, uint32_t rank)
{
	bool last;

	pthread_mutex_lock(&t->lock);
	t->left[rank] = true;
	last = --t->seats == 0;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	if (last)
		team_free(t);
}

uint8_t *team_enter(struct team *t, size_t bytes, bool *first)
{
	struct team_round *r = &t->round;
	unsigned parity;

	pthread_mutex_lock(&t->lock);
	parity = r->number & 1;
	*first = r->entered == 0;
	if (*first) {
		r->rc[parity] = 0;
		r->bytes[parity] = bytes;
		if (r->capacity[parity] < bytes) {
			free(r->data[parity]);
			r->data[parity] = malloc(bytes);
			r->capacity[parity] = r->data[parity] ? bytes : 0;
		}
		if (r->data[parity] == NULL && bytes)
			r->rc[parity] = -ENOMEM;
	} else if (bytes != r->bytes[parity]) {
		r->rc[parity] = -EINVAL;
	}
	r->entered++;
	return r->rc[parity] < 0 ? NULL : r->data[parity];
}

int team_finish(struct team *t, uint8_t **result)
{
	struct team_round *r = &t->round;
	uint64_t mine = r->number;

	if (r->entered == t->size) {
		r->entered = 0;
		r->number++;
		pthread_cond_broadcast(&t->changed);
	}
	while (r->number == mine && t->seats == t->size)
		pthread_cond_wait(&t->changed, &t->lock);
	if (r->number == mine) {
		r->entered--;
		return -EPIPE;
	}
	*result = r->data[mine & 1];
	return r->rc[mine & 1];
}

void team_merge(enum merge merge, uint64_t *into, const uint64_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (merge == MERGE_SUM)
			into[i] += from[i];
		else if (merge == MERGE_MAX)
			into[i] = from[i] > into[i] ? from[i] : into[i];
		else
			into[i] = from[i] < into[i] ? from[i] : into[i];
	}
}

int team_send(struct team *t, uint32_t from, uint32_t to, const void *data, size_t bytes)
{
	struct team_message *m;

	if (to >= t->size)
		return -EINVAL;
	m = message_new(from, to, data, bytes);
	if (m == NULL)
		return -ENOMEM;
	pthread_mutex_lock(&t->lock);
	*t->messages_end = m;
	t->messages_end = &m->next;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	return 0;
}

int team_receive(struct team *t, uint32_t from, uint32_t to, void *data, size_t bytes)
{
	struct team_message **at, *m;
	int rc;

	if (from >= t->size)
		return -EINVAL;
	pthread_mutex_lock(&t->lock);
	while (*(at = message_find(t, from, to)) == NULL && !t->left[from])
		pthread_cond_wait(&t->changed, &t->lock);
	m = *at;
	if (m) {
		*at = m->next;
		if (m->next == NULL)
			t->messages_end = at;
	}
	pthread_mutex_unlock(&t->lock);
	if (m == NULL)
		return -EPIPE;
	rc = m->bytes == bytes ? 0 : -EMSGSIZE;
	if (rc == 0 && bytes)
		memcpy(data, m->data, bytes);
	free(m);
	return rc;
}

bool team_arrived(struct team *t, uint32_t from, uint32_t to)
{
	bool arrived;

	if (from >= t->size)
		return true;
	pthread_mutex_lock(&t->lock);
	arrived = *message_find(t, from, to) != NULL || t->left[from];
	pthread_mutex_unlock(&t->lock);
	return arrived;
}

int team_post(struct team *t, uint32_t from, uint32_t to, uint32_t channel, const void *data,
	      size_t bytes)
{
	struct team_message *m;
	uint32_t count = 0;

	if (to >= t->size || channel >= GROUP_CHANNELS || bytes > GROUP_LETTER_BYTES)
		return -EINVAL;
	m = message_new(from, to, data, bytes);
	if (m == NULL)
		return -EAGAIN;
	m->channel = channel;
	pthread_mutex_lock(&t->lock);
	for (const struct team_message *l = t->letters; l; l = l->next)
		count += l->to == to && l->channel == channel;
	if (count < TEAM_LETTERS) {
		*t->letters_end = m;
		t->letters_end = &m->next;
	}
	pthread_mutex_unlock(&t->lock);
	if (count < TEAM_LETTERS)
		return 0;
	free(m);
	return -EAGAIN;
}

int team_take(struct team *t, uint32_t to, uint32_t channel, uint32_t *from, void *data,
	      size_t bytes)
{
	struct team_message **at, *m;
	int rc;

	pthread_mutex_lock(&t->lock);
	at = &t->letters;
	while (*at && ((*at)->to != to || (*at)->channel != channel))
		at = &(*at)->next;
	m = *at;
	if (m) {
		*at = m->next;
		if (m->next == NULL)
			t->letters_end = at;
	}
	pthread_mutex_unlock(&t->lock);
	if (m == NULL)
		return 0;
	rc = m->bytes == bytes ? 1 : -EMSGSIZE;
	*from = m->from;
	if (rc == 1)
		memcpy(data, m->data, bytes);
	free(m);
	return rc;
}

static struct team_message *message_new(uint32_t from, uint32_t to, const void *data, size_t bytes)
{
	struct team_message *m = malloc(sizeof(*m) + bytes);

	if (m == NULL)
		return NULL;
	m->next = NULL;
	m->from = from;
	m->to = to;
	m->channel = 0;
	m->bytes = bytes;
	if (bytes)
		memcpy(m->data, data, bytes);
	return m;
}

static void messages_free(struct team_message *m)
{
	while (m) {
		struct team_message *next = m->next;

		free(m);
		m = next;
	}
}

/* The link to the oldest message from one rank to the other, or the end of the list. */
static struct team_message **message_find(struct team *t, uint32_t from, uint32_t to)
{
	struct team_message **at = &t->messages;

	while (*at && ((*at)->from != from || (*at)->to != to))
		at = &(*at)->next;
	return at;
}

/* Two buffers are enough, as for the other rounds: a rank posts round k + 1 only after it has read
 * round k. */
uint64_t team_status_post(struct team *t, const struct status *mine)
{
	uint64_t number;

	pthread_mutex_lock(&t->lock);
	number = t->status_number;
	if (t->status_posted == 0)
		t->status[number & 1] = *mine;
	else
		status_merge(&t->status[number & 1], mine);
	if (++t->status_posted == t->size) {
		t->status_posted = 0;
		t->status_number++;
	}
	pthread_mutex_unlock(&t->lock);
	return number;
}

bool team_status_test(struct team *t, uint64_t number, struct status *merged)
{
	bool done;

	pthread_mutex_lock(&t->lock);
	done = t->status_number != number;
	if (done) {
		*merged = t->status[number & 1];
	} else if (t->seats < t->size) {
		memset(merged, 0, sizeof(*merged));
		merged->stop = STOP_ERROR;
		done = true;
	}
	pthread_mutex_unlock(&t->lock);
	return done;
}
