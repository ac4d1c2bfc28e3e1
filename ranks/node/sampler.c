/* SPDX-License-Identifier: Apache-2.0 */
/* Sampler of a node: see sampler.h. */
#include "ranks/node/sampler.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/clock_wait.h"

struct sampler {
	struct client_source *source;
	struct client_series series;
	const struct log *log;
	pthread_t thread;
	pthread_mutex_t lock; /* of quit */
	pthread_cond_t wake;
	bool running, quit, warned;
	uint64_t start_ns, last_ns;
	uint64_t last[CLIENT_COLUMNS];
};

/* A rank in another process name space cannot use this pid. */
struct process {
	int64_t pid;
	uint64_t space;
};

static int sampler_make(struct sampler **out, const struct process *all, uint32_t count,
			const struct log *log, struct err *err)
{
	struct sampler *s = calloc(1, sizeof(*s));
	pid_t *pids = calloc(count, sizeof(*pids));
	uint32_t known = 0;
	int rc;

	for (uint32_t i = 0; pids && i < count; i++)
		if (all[i].space == all[0].space)
			pids[known++] = (pid_t)all[i].pid;
	rc = s && pids ? client_source_open(&s->source, "", pids, known, err)
		       : err_set(err, -ENOMEM, "no memory to watch the node");
	free(pids);
	if (rc < 0) {
		free(s);
		return rc;
	}
	s->log = log;
	pthread_cond_init(&s->wake, NULL);
	pthread_mutex_init(&s->lock, NULL);
	*out = s;
	return 0;
}

int sampler_open(struct sampler **out, struct group *node, const struct log *log, struct err *err)
{
	struct process mine = {.pid = getpid()}, *all = NULL;
	struct stat space;
	int rc = 0;

	*out = NULL;
	if (stat("/proc/self/ns/pid", &space) == 0)
		mine.space = space.st_ino;
	if (node->rank == 0) {
		all = calloc(node->size, sizeof(*all));
		if (!all)
			rc = err_set(err, -ENOMEM, "no memory to watch the node");
	}
	rc = group_agree(node, rc, err);
	if (rc == 0)
		rc = group_gather(node, &mine, sizeof(mine), all);
	if (rc == 0 && all)
		rc = sampler_make(out, all, node->size, log, err);
	free(all);
	return group_agree(node, rc, err);
}

static void sampler_join(struct sampler *s)
{
	if (!s->running)
		return;
	pthread_mutex_lock(&s->lock);
	s->quit = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	s->running = false;
}

void sampler_close(struct sampler *s)
{
	if (!s)
		return;
	sampler_join(s);
	client_source_close(s->source);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Takes a row. The cost of a row, known only when it has been taken, is part of that row. */
static void sampler_row(struct sampler *s)
{
	uint64_t reading[CLIENT_COLUMNS], now;

	client_source_read(s->source, reading);
	now = clock_kernel_ns();
	reading[CLIENT_SAMPLER_CPU_NS] = clock_thread_cpu_ns();
	client_series_add(&s->series, s->last_ns - s->start_ns, now - s->start_ns, s->last,
			  reading);
	memcpy(s->last, reading, sizeof(reading));
	s->last_ns = now;
}

static void *sampler_main(void *argument)
{
	struct sampler *s = argument;
	uint64_t due = s->start_ns + SAMPLER_TICK_NS;
	bool quit = false;

	while (!quit) {
		bool early = true;

		pthread_mutex_lock(&s->lock);
		while (!s->quit && early)
			early = clock_cond_wait(&s->wake, &s->lock, due);
		quit = s->quit;
		pthread_mutex_unlock(&s->lock);
		sampler_row(s);
		due = sampler_due_after(due, s->last_ns);
	}
	return NULL;
}

void sampler_start(struct sampler *s)
{
	int rc;

	if (!s)
		return;
	sampler_join(s);
	client_series_init(&s->series);
	s->quit = false;
	client_source_read(s->source, s->last);
	s->start_ns = clock_kernel_ns();
	s->last_ns = s->start_ns;
	rc = pthread_create(&s->thread, NULL, sampler_main, s);
	s->running = rc == 0;
	if (rc && !s->warned) {
		log_say(s->log, LOG_WARNING, "this node is not watched: no thread for it: %s",
			strerror(rc));
		s->warned = true;
	}
}

struct client_series *sampler_stop(struct sampler *s)
{
	if (!s)
		return NULL;
	sampler_join(s);
	return &s->series;
}

const struct client_facts *sampler_facts(const struct sampler *s)
{
	return client_source_facts(s->source);
}
