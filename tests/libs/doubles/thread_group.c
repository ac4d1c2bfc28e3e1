/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of threads: see thread_group.h. The ranks of a group share a team (thread_team.h). Each
 * rank holds a seat in it, which contains its struct group. */
#include "tests/libs/doubles/thread_group.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/libs/doubles/thread_team.h"

struct seat {
	struct group group; /* first: a struct group * is a struct seat * */
	struct team *team;
	uint64_t status_number; /* of the latest round posted */
	/* The seats of one rank form a ring, so that those that are left over can be freed. */
	struct seat *next, *previous;
};

static int seat_allreduce(struct group *g, enum merge merge, uint64_t *words, size_t n);
static int seat_broadcast(struct group *g, void *data, size_t bytes);
static int seat_gather(struct group *g, const void *record, size_t bytes, void *all);
static int seat_scatter(struct group *g, const void *all, size_t bytes, void *record);
static int seat_send(struct group *g, uint32_t to, const void *data, size_t bytes);
static int seat_receive(struct group *g, uint32_t from, void *data, size_t bytes);
static bool seat_arrived(struct group *g, uint32_t from);
static int seat_post(struct group *g, uint32_t to, uint32_t channel, const void *data,
		     size_t bytes);
static int seat_take(struct group *g, uint32_t channel, uint32_t *from, void *data, size_t bytes);
static int seat_split(struct group *g, uint32_t color, struct group **out, struct err *err);
static int seat_shared(struct group *g, size_t bytes, void **block, struct err *err);
static void seat_status_post(struct group *g, const struct status *mine);
static bool seat_status_test(struct group *g, struct status *merged);
static void seat_stop_tell(struct group *g, uint64_t reason);
static uint64_t seat_stop_heard(struct group *g);
static void seat_free(struct group *g);

static const struct group_ops thread_ops = {
	.allreduce = seat_allreduce,
	/* only rank 0's words are the result; the others' are undefined */
	.reduce = seat_allreduce,
	.broadcast = seat_broadcast,
	.gather = seat_gather,
	.scatter = seat_scatter,
	.send = seat_send,
	.receive = seat_receive,
	.arrived = seat_arrived,
	.post = seat_post,
	.take = seat_take,
	.split = seat_split,
	.shared = seat_shared,
	.status_post = seat_status_post,
	.status_test = seat_status_test,
	.stop_tell = seat_stop_tell,
	.stop_heard = seat_stop_heard,
	.free = seat_free,
};

static struct seat *seat_new(struct team *t, uint32_t rank);
static void seat_sit(struct seat *s, struct team *t, uint32_t rank);
static int split_teams(struct seat *s, const uint32_t *colors, uint32_t color, uint32_t *rank,
		       struct team **out);

struct start {
	pthread_mutex_t lock;
	pthread_cond_t opened;
	int open; /* 0: wait; 1: run; -1: some threads could not be started, so return */
	int (*body)(struct group *g, void *argument);
	void *argument;
};

struct runner {
	pthread_t thread;
	struct start *start;
	struct seat *seat;
	int rc;
};

static int run_ranks(struct runner *runners, uint32_t n, struct start *start, struct err *err);
static void *run_rank(void *argument);

int thread_group_run(uint32_t n, int (*body)(struct group *g, void *argument), void *argument,
		     struct err *err)
{
	struct start start = {.lock = PTHREAD_MUTEX_INITIALIZER,
			      .opened = PTHREAD_COND_INITIALIZER,
			      .body = body,
			      .argument = argument};
	struct runner *runners;
	struct team *team;
	uint32_t seated = 0;
	int rc;

	if (n == 0)
		return err_set(err, -EINVAL, "a group needs at least one rank");
	runners = calloc(n, sizeof(*runners));
	team = team_new(n);
	while (runners && team && seated < n &&
	       (runners[seated].seat = seat_new(team, seated)) != NULL)
		runners[seated++].start = &start;
	if (seated < n) {
		while (seated > 0)
			free(runners[--seated].seat);
		team_free(team);
		free(runners);
		return err_set(err, -ENOMEM, "no memory for a group of %u ranks", n);
	}
	rc = run_ranks(runners, n, &start, err);
	/* The ranks' own threads have freed their seats, unless none ran. */
	for (uint32_t i = 0; i < n; i++) {
		if (runners[i].seat)
			seat_free(&runners[i].seat->group);
	}
	free(runners);
	return rc;
}

static int run_ranks(struct runner *runners, uint32_t n, struct start *start, struct err *err)
{
	uint32_t made = 0;
	int failed = 0, rc = 0;

	while (made < n && failed == 0) {
		failed = pthread_create(&runners[made].thread, NULL, run_rank, &runners[made]);
		made += failed == 0;
	}
	pthread_mutex_lock(&start->lock);
	start->open = failed ? -1 : 1;
	pthread_cond_broadcast(&start->opened);
	pthread_mutex_unlock(&start->lock);
	for (uint32_t i = 0; i < made; i++) {
		pthread_join(runners[i].thread, NULL);
		if (rc == 0)
			rc = runners[i].rc;
	}
	if (failed)
		return err_set(err, -failed, "only %u of %u threads could be started: %s", made, n,
			       strerror(failed));
	return rc;
}

static void *run_rank(void *argument)
{
	struct runner *r = argument;
	struct start *start = r->start;
	int open;

	pthread_mutex_lock(&start->lock);
	while (start->open == 0)
		pthread_cond_wait(&start->opened, &start->lock);
	open = start->open;
	pthread_mutex_unlock(&start->lock);
	if (open < 0)
		return NULL;
	r->rc = start->body(&r->seat->group, start->argument);
	while (r->seat->next != r->seat)
		seat_free(&r->seat->next->group);
	seat_free(&r->seat->group);
	r->seat = NULL;
	return NULL;
}

int group_alone(struct group **out, struct err *err)
{
	struct team *t = team_new(1);
	struct seat *s = t ? seat_new(t, 0) : NULL;

	if (s == NULL) {
		team_free(t);
		return err_set(err, -ENOMEM, "no memory for a group");
	}
	*out = &s->group;
	return 0;
}

static struct seat *seat_new(struct team *t, uint32_t rank)
{
	struct seat *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->next = s;
	s->previous = s;
	seat_sit(s, t, rank);
	return s;
}

static void seat_sit(struct seat *s, struct team *t, uint32_t rank)
{
	s->team = t;
	s->group.ops = &thread_ops;
	s->group.rank = rank;
	s->group.size = t ? t->size : 0;
}

static void seat_free(struct group *g)
{
	struct seat *s = (struct seat *)g;

	/* The analyzer does not see the ring and takes this for the seat that was freed last. */
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	s->previous->next = s->next;
	s->next->previous = s->previous;
	team_leave(s->team, g->rank);
	free(s);
}

static int seat_allreduce(struct group *g, enum merge merge, uint64_t *words, size_t n)
{
	struct team *t = ((struct seat *)g)->team;
	uint8_t *data, *result;
	bool first;
	int rc;

	if (g->size == 1)
		return 0;
	data = team_enter(t, n * sizeof(*words), &first);
	if (data && first)
		memcpy(data, words, n * sizeof(*words));
	else if (data)
		team_merge(merge, (uint64_t *)data, words, n);
	rc = team_finish(t, &result);
	if (rc == 0 && n)
		memcpy(words, result, n * sizeof(*words));
	pthread_mutex_unlock(&t->lock);
	return rc;
}

static int seat_broadcast(struct group *g, void *data, size_t bytes)
{
	struct team *t = ((struct seat *)g)->team;
	uint8_t *buffer, *result;
	bool first;
	int rc;

	if (g->size == 1)
		return 0;
	buffer = team_enter(t, bytes, &first);
	if (buffer && g->rank == 0)
		memcpy(buffer, data, bytes);
	rc = team_finish(t, &result);
	if (rc == 0 && g->rank != 0 && bytes)
		memcpy(data, result, bytes);
	pthread_mutex_unlock(&t->lock);
	return rc;
}

static int seat_gather(struct group *g, const void *record, size_t bytes, void *all)
{
	struct team *t = ((struct seat *)g)->team;
	uint8_t *buffer, *result;
	bool first;
	int rc;

	buffer = team_enter(t, bytes * g->size, &first);
	if (buffer && bytes)
		memcpy(buffer + bytes * g->rank, record, bytes);
	rc = team_finish(t, &result);
	if (rc == 0 && g->rank == 0 && bytes)
		memcpy(all, result, bytes * g->size);
	pthread_mutex_unlock(&t->lock);
	return rc;
}

static int seat_scatter(struct group *g, const void *all, size_t bytes, void *record)
{
	struct team *t = ((struct seat *)g)->team;
	uint8_t *buffer, *result;
	bool first;
	int rc;

	buffer = team_enter(t, bytes * g->size, &first);
	if (buffer && g->rank == 0 && bytes)
		memcpy(buffer, all, bytes * g->size);
	rc = team_finish(t, &result);
	if (rc == 0 && bytes)
		memcpy(record, result + bytes * g->rank, bytes);
	pthread_mutex_unlock(&t->lock);
	return rc;
}

static int seat_send(struct group *g, uint32_t to, const void *data, size_t bytes)
{
	return team_send(((struct seat *)g)->team, g->rank, to, data, bytes);
}

static int seat_receive(struct group *g, uint32_t from, void *data, size_t bytes)
{
	return team_receive(((struct seat *)g)->team, from, g->rank, data, bytes);
}

static bool seat_arrived(struct group *g, uint32_t from)
{
	return team_arrived(((struct seat *)g)->team, from, g->rank);
}

static int seat_post(struct group *g, uint32_t to, uint32_t channel, const void *data, size_t bytes)
{
	return team_post(((struct seat *)g)->team, g->rank, to, channel, data, bytes);
}

static int seat_take(struct group *g, uint32_t channel, uint32_t *from, void *data, size_t bytes)
{
	return team_take(((struct seat *)g)->team, g->rank, channel, from, data, bytes);
}

static void seat_status_post(struct group *g, const struct status *mine)
{
	struct seat *s = (struct seat *)g;

	s->status_number = team_status_post(s->team, mine);
}

static bool seat_status_test(struct group *g, struct status *merged)
{
	struct seat *s = (struct seat *)g;

	return team_status_test(s->team, s->status_number, merged);
}

static void seat_stop_tell(struct group *g, uint64_t reason)
{
	_Atomic uint64_t *stop = &((struct seat *)g)->team->stop;
	uint64_t old = atomic_load(stop);

	while (old < reason && !atomic_compare_exchange_weak(stop, &old, reason))
		;
}

static uint64_t seat_stop_heard(struct group *g)
{
	return atomic_load_explicit(&((struct seat *)g)->team->stop, memory_order_relaxed);
}

/* All ranks tell their colours, the lowest rank of each colour makes its team, and all ranks learn
 * the teams. A failure anywhere fails all ranks, so a rank without memory still takes part. */
static int seat_split(struct group *g, uint32_t color, struct group **out, struct err *err)
{
	struct seat *s = (struct seat *)g, *made = seat_new(NULL, 0);
	struct team *t = s->team, *team = NULL;
	uint8_t *buffer, *result;
	uint32_t rank = 0;
	bool first;
	int rc;

	buffer = team_enter(t, sizeof(color) * g->size, &first);
	if (buffer)
		memcpy(buffer + sizeof(color) * g->rank, &color, sizeof(color));
	rc = team_finish(t, &result);
	pthread_mutex_unlock(&t->lock);
	/* The result may be read without the lock: nobody clears it before this rank has entered
	 * the next round. */
	if (rc == 0)
		rc = split_teams(s, (const uint32_t *)(void *)result, color, &rank,
				 made ? &team : NULL);
	if (rc < 0) {
		free(made);
		return err_set(err, rc, "cannot split the group: %s", strerror(-rc));
	}
	seat_sit(made, team, rank);
	made->next = s->next;
	made->previous = s;
	s->next->previous = made;
	s->next = made;
	*out = &made->group;
	return 0;
}

/* The second round of a split: the first rank of each colour publishes a team, and every rank
 * reports whether it could do its part (out NULL: this rank has no memory). */
static int split_teams(struct seat *s, const uint32_t *colors, uint32_t color, uint32_t *rank,
		       struct team **out)
{
	struct published {
		struct team *team;
		uint64_t failed;
	} mine = {NULL, out == NULL}, *all;
	uint32_t n = 0, leader = UINT32_MAX, size = s->group.size;
	struct team *t = s->team;
	uint8_t *buffer, *result;
	bool first;
	int rc;

	for (uint32_t i = 0; i < size; i++) {
		if (colors[i] != color)
			continue;
		if (leader == UINT32_MAX)
			leader = i;
		if (i == s->group.rank)
			*rank = n;
		n++;
	}
	if (leader == s->group.rank) {
		mine.team = team_new(n);
		mine.failed |= mine.team == NULL;
	}
	buffer = team_enter(t, sizeof(mine) * size, &first);
	if (buffer)
		memcpy(buffer + sizeof(mine) * s->group.rank, &mine, sizeof(mine));
	rc = team_finish(t, &result);
	if (rc == 0) {
		all = (struct published *)(void *)result;
		rc = out ? 0 : -ENOMEM;
		for (uint32_t i = 0; i < size; i++) {
			if (all[i].failed)
				rc = -ENOMEM;
		}
		if (rc == 0)
			*out = all[leader].team;
	}
	pthread_mutex_unlock(&t->lock);
	if (rc < 0 && mine.team)
		team_free(mine.team);
	return rc;
}

static int seat_shared(struct group *g, size_t bytes, void **block, struct err *err)
{
	struct team *t = ((struct seat *)g)->team;
	struct team_block *b = NULL;
	void *base = NULL;
	uint8_t *buffer, *result;
	bool first;
	int rc;

	if (g->rank == 0 && (b = malloc(sizeof(*b))) != NULL) {
		b->bytes = bytes ? bytes : 1;
		b->base = mmap(NULL, b->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
		if (b->base == MAP_FAILED) {
			free(b);
			b = NULL;
		}
	}
	buffer = team_enter(t, sizeof(base), &first);
	if (b) { /* belongs to the team from here on, however the round ends */
		base = b->base;
		b->next = t->blocks;
		t->blocks = b;
	}
	if (buffer && g->rank == 0)
		memcpy(buffer, &base, sizeof(base));
	rc = team_finish(t, &result);
	if (rc == 0)
		memcpy(&base, result, sizeof(base));
	pthread_mutex_unlock(&t->lock);
	if (rc == 0 && base == NULL)
		rc = -ENOMEM;
	if (rc < 0)
		return err_set(err, rc, "no shared block of %zu bytes: %s", bytes, strerror(-rc));
	*block = base;
	return 0;
}
