/* SPDX-License-Identifier: Apache-2.0 */
/* Node watch: see node_status.h. */
#include "ranks/mpi/node_status.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"

enum { SEAT_APART_BYTES = 128, OBJECT_WORDS = GROUP_WAIT_BYTES / 8, LOG_LINES = 8 };
enum { BEATS_PER_LIMIT = 4 };

/* Written by its rank, read by the first rank of the node. The version is odd while the wait is
 * being written. */
struct node_watch_seat {
	_Atomic uint32_t beat, version;
	_Atomic uint64_t elapsed_ns;
	_Atomic uint64_t object[OBJECT_WORDS];
	char who[STALL_WHO_BYTES]; /* written before a phase */
	char apart[SEAT_APART_BYTES];
};

/* Rank 0: a line for the log, unless there have been many already. */
static void node_watch_log(struct node_watch *w, const struct stall_note *n, uint64_t now_ns)
{
	double seconds = (double)n->elapsed_ns / 1e9;

	if (now_ns - w->period_ns >= w->watch.limit_ns) {
		if (w->left_out)
			log_say(w->log, LOG_WARNING, "%u more ranks wait for long or do not answer",
				w->left_out);
		w->period_ns = now_ns;
		w->lines = w->left_out = 0;
	}
	if (w->lines == LOG_LINES) {
		w->left_out++;
		return;
	}
	w->lines++;
	if (n->kind == STALL_WAITS)
		log_say(w->log, LOG_WARNING,
			"%s has waited %.1f s for storage%s%s: see whether its servers answer%s; TERM ends "
			"the run, and what was measured is kept",
			n->who, seconds, *n->object ? ", for " : "", n->object,
			backend_look_at(n->object));
	else
		log_say(w->log, LOG_WARNING,
			"%s has not answered for %.1f s: it is stopped, or hangs in a call", n->who,
			seconds);
}

static void node_watch_note(struct node_watch *w, const struct stall_note *n)
{
	if (!w->last)
		leader_link_note(w->link, n);
	else if (w->log)
		node_watch_log(w, n, w->watch.looked_ns);
}

/* A message from a neighbour in the tree. */
static void node_watch_heard(void *argument, uint32_t from, const struct stall_note *note)
{
	struct node_watch *w = argument;
	uint32_t child = from - w->first_child;

	if (note->kind != STALL_ALIVE) {
		node_watch_note(w, note);
	} else if (child < w->child_count) {
		w->children[child].beats++;
		memcpy(w->children[child].who, note->who, sizeof(note->who));
	}
}

int node_watch_open(struct node_watch *w, struct group *node, const struct group *leaders,
		    struct leader_link *link, struct err *err)
{
	void *seats;
	int rc;

	memset(w, 0, sizeof(*w));
	rc = group_shared(node, node->size * sizeof(*w->seats), &seats, err);
	if (rc < 0)
		return err_wrap(err, rc, "watch over ranks");
	w->seats = seats;
	w->rank = node->rank;
	w->size = node->size;
	w->link = link;
	w->last = leaders && leaders->rank == 0;
	if (leaders) {
		w->seen = calloc(node->size, sizeof(*w->seen));
		w->first_child = status_tree_first(leaders->rank);
		w->child_count = status_tree_children(leaders->rank, leaders->size);
		rc = w->seen ? 0 : err_set(err, -ENOMEM, "no memory for a watch over ranks");
	}
	if (link)
		leader_link_listen(link, node_watch_heard, w);
	return group_agree(node, rc, err);
}

void node_watch_close(struct node_watch *w)
{
	free(w->seen);
	w->seen = NULL;
	w->watch.limit_ns = 0;
}

void node_watch_set(struct node_watch *w, const char *who, const struct log *log, uint64_t limit_ns)
{
	snprintf(w->seats[w->rank].who, sizeof(w->seats[w->rank].who), "%s", who);
	w->log = log;
	memset(&w->first, 0, sizeof(w->first));
	stall_watch_init(&w->watch, limit_ns);
	w->beat_ns = 0;
	w->lines = w->left_out = 0;
}

void node_watch_tell(struct node_watch *w, const struct group_wait *wait)
{
	struct node_watch_seat *s = &w->seats[w->rank];
	uint32_t version = atomic_load_explicit(&s->version, memory_order_relaxed);
	uint64_t word;

	atomic_store_explicit(&s->version, version + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&s->elapsed_ns, wait->elapsed_ns, memory_order_relaxed);
	for (unsigned i = 0; i < OBJECT_WORDS; i++) {
		memcpy(&word, wait->object + 8 * i, sizeof(word));
		atomic_store_explicit(&s->object[i], word, memory_order_relaxed);
	}
	atomic_store_explicit(&s->version, version + 2, memory_order_release);
}

/* Reads what the rank says. Returns false while it is writing. */
static bool seat_read(struct node_watch_seat *s, struct group_wait *wait)
{
	uint32_t before = atomic_load_explicit(&s->version, memory_order_acquire);
	uint64_t word;

	wait->elapsed_ns = atomic_load_explicit(&s->elapsed_ns, memory_order_relaxed);
	for (unsigned i = 0; i < OBJECT_WORDS; i++) {
		word = atomic_load_explicit(&s->object[i], memory_order_relaxed);
		memcpy(wait->object + 8 * i, &word, sizeof(word));
	}
	wait->object[GROUP_WAIT_BYTES - 1] = '\0';
	atomic_thread_fence(memory_order_acquire);
	return before % 2 == 0 && before == atomic_load_explicit(&s->version, memory_order_relaxed);
}

static void node_watch_seats(struct node_watch *w, uint64_t now_ns)
{
	struct stall_note note;
	struct group_wait wait;

	for (uint32_t i = 0; i < w->size; i++) {
		struct node_watch_seat *s = &w->seats[i];
		uint32_t beat = atomic_load_explicit(&s->beat, memory_order_relaxed);

		if (!seat_read(s, &wait))
			wait = (struct group_wait){.elapsed_ns = 0};
		memset(&note, 0, sizeof(note));
		note.kind = stall_watch_look(&w->watch, &w->seen[i], beat, wait.elapsed_ns, now_ns,
					     &note.elapsed_ns);
		if (note.kind == STALL_NONE)
			continue;
		memcpy(note.who, s->who, sizeof(note.who));
		memcpy(note.object, wait.object, sizeof(note.object));
		node_watch_note(w, &note);
	}
}

/* A first rank that is stopped cannot watch its node, nor itself: its parent does. */
static void node_watch_children(struct node_watch *w, uint64_t now_ns)
{
	struct stall_note note;

	for (uint32_t i = 0; i < w->child_count; i++) {
		struct node_watch_child *c = &w->children[i];

		memset(&note, 0, sizeof(note));
		note.kind = stall_watch_look(&w->watch, &c->seat, c->beats, 0, now_ns,
					     &note.elapsed_ns);
		if (note.kind == STALL_NONE)
			continue;
		if (*c->who)
			memcpy(note.who, c->who, sizeof(note.who));
		else
			snprintf(note.who, sizeof(note.who), "the first rank of node %u",
				 w->first_child + i);
		node_watch_note(w, &note);
	}
}

/* The second rank of rank 0's node. What rank 0 waits for, it tells itself. */
static void node_watch_first(struct node_watch *w, uint64_t now_ns)
{
	struct node_watch_seat *s = &w->seats[0];
	uint32_t beat = atomic_load_explicit(&s->beat, memory_order_relaxed);
	struct stall_note note = {.kind = STALL_NONE};

	note.kind = stall_watch_look(&w->watch, &w->first, beat, 0, now_ns, &note.elapsed_ns);
	if (note.kind != STALL_SILENT)
		return;
	memcpy(note.who, s->who, sizeof(note.who));
	node_watch_log(w, &note, now_ns);
}

/* Tells the parent that this first rank is alive. */
static void node_watch_beat(struct node_watch *w, uint64_t now_ns)
{
	struct stall_note note = {.kind = STALL_ALIVE};

	if (w->last || now_ns < w->beat_ns)
		return;
	memcpy(note.who, w->seats[w->rank].who, sizeof(note.who));
	leader_link_note(w->link, &note);
	w->beat_ns = now_ns + w->watch.limit_ns / BEATS_PER_LIMIT;
}

bool node_watch_poll(struct node_watch *w, uint64_t now_ns)
{
	struct node_watch_seat *mine = &w->seats[w->rank];

	atomic_store_explicit(&mine->beat,
			      atomic_load_explicit(&mine->beat, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	if (w->rank == 1 && w->log && stall_watch_due(&w->watch, now_ns))
		node_watch_first(w, now_ns);
	if (!w->seen || !stall_watch_due(&w->watch, now_ns))
		return false;
	node_watch_seats(w, now_ns);
	if (!w->link)
		return false;
	node_watch_children(w, now_ns);
	node_watch_beat(w, now_ns);
	return true;
}
