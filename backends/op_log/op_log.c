/* SPDX-License-Identifier: Apache-2.0 */
/* Operation log: see op_log.h. */
#include "backends/op_log/op_log.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backends/op_log/file.h"
#include "backends/op_log/row.h"
#include "core/clock.h"
#include "core/clock_wait.h"
#include "core/part.h"
#include "core/ring.h"
#include "core/time_ns.h"

enum { RECORD_BYTES = 128, PATH_BYTES = 4096, PATH_PART_MAX = PATH_BYTES - PART_ENDING_BYTES - 1 };

/* The fuller the thread finds the rings, the more often it looks. */
static const uint64_t look_min_ns = 250000, look_max_ns = 20000000, flush_ns = NS_PER_S,
		      leave_look_ns = 50000;

struct op_log_queue {
	struct ring ring;
	uint64_t dropped; /* owned by the queue's thread until it leaves */
	struct op_log *log;
	struct op_log_queue *next;
	bool joined; /* guarded by log->lock */
	struct op_row_context context;
	char phase[JOB_NAME_BYTES], root[URI_BYTES];
};

struct op_log {
	struct op_log_options options;
	struct op_log_file *file;
	char path[PATH_BYTES], part[PATH_BYTES]; /* part: see log_place */
	bool staged;                             /* the rows are in part so far */
	pthread_t thread;
	pthread_mutex_t lock; /* taken only for joining and leaving */
	sem_t wake;
	_Atomic bool end;
	/* entries stay until the end; those that were left are used again */
	_Atomic(struct op_log_queue *) queues;
	uint32_t queue_count;
	_Atomic uint64_t dropped;
	char phase[JOB_NAME_BYTES];
	uint32_t run;
	/* Used by the writing thread only. */
	uint64_t rows;
	struct op_row_second second;
	int rc; /* of the file; rows after an error are lost */
};

static bool name_ends(const char *name, const char *end)
{
	size_t n = strlen(name), bytes = strlen(end);

	return n >= bytes && strcmp(name + n - bytes, end) == 0;
}

/* Makes "ops.07.tsv.zst" of "ops.tsv.zst" for file 7 of 64. The number goes before the endings, so
 * that names sort by rank or node. */
static bool rank_path(char out[PATH_BYTES], const struct op_log_options *o)
{
	const char *slash = strrchr(o->path, '/'), *name = slash ? slash + 1 : o->path;
	uint32_t file = o->files ? o->file : o->rank, files = o->files ? o->files : o->ranks;
	size_t stem = strlen(name), before;
	int digits = snprintf(NULL, 0, "%u", files - 1);

	if (files == 1)
		return snprintf(out, PATH_BYTES, "%s", o->path) < PATH_PART_MAX;
	if (stem > 4 && name_ends(name, ".zst"))
		stem -= 4;
	before = stem;
	while (before > 0 && name[before - 1] != '.')
		before--;
	if (before > 1)
		stem = before - 1;
	return snprintf(out, PATH_BYTES, "%.*s%.*s.%0*u%s", (int)(name - o->path), o->path,
			(int)stem, name, digits, file, name + stem) < PATH_PART_MAX;
}

/* A log that is to be replaced stays until the new one is closed: a run that is refused, or fails
 * before it has measured anything, leaves the older log as it was. Meanwhile the rows are in a part
 * of it. The first rank of a file decides so, and the others find that file. */
static void log_place(struct op_log *l)
{
	char ending[PART_ENDING_BYTES];
	struct stat older;

	part_ending(ending, ".part", l->options.draw);
	snprintf(l->part, sizeof(l->part), "%.*s%s", PATH_PART_MAX, l->path, ending);
	if (l->options.joins)
		l->staged = lstat(l->part, &older) == 0;
	else
		l->staged =
			l->options.force && lstat(l->path, &older) == 0 && S_ISREG(older.st_mode);
}

/* Empties a ring. Returns true when it was more than a quarter full. */
static bool op_log_drain(struct op_log *l, struct op_log_queue *p)
{
	bool full = ring_held(&p->ring) > p->ring.bytes / 4;
	const struct op_record *r;
	char row[OP_ROW_BYTES];

	while ((r = ring_front(&p->ring)) != NULL) {
		size_t n = op_row_write(row, l->rows, r, &p->context, &l->second);

		if (l->rc == 0)
			l->rc = op_log_file_write(l->file, row, n);
		if (l->rc == 0)
			l->rows++;
		else
			atomic_fetch_add(&l->dropped, 1);
		ring_release(&p->ring);
	}
	return full;
}

static void *op_log_write_rows(void *argument)
{
	struct op_log *l = argument;
	uint64_t look_ns = look_max_ns, slept_ns = 0;
	bool last = false;

	while (!last) {
		bool full = false;
		struct op_log_queue *p;

		last = atomic_load_explicit(&l->end, memory_order_acquire);
		p = atomic_load_explicit(&l->queues, memory_order_acquire);
		for (; p; p = p->next)
			full = op_log_drain(l, p) || full;
		if (slept_ns >= flush_ns) {
			slept_ns = 0;
			l->rc = l->rc ? l->rc : op_log_file_flush(l->file);
		}
		if (full && look_ns > look_min_ns)
			look_ns /= 2;
		else if (!full && look_ns < look_max_ns)
			look_ns *= 2;
		if (!last)
			clock_sem_wait(&l->wake, clock_kernel_ns() + look_ns);
		slept_ns += look_ns;
	}
	return NULL;
}

int op_log_open(struct op_log **out, const struct op_log_options *options, struct err *err)
{
	struct op_log_file_way way = {.compressed = name_ends(options->path, ".zst"),
				      .shared = options->files > 0,
				      .joins = options->joins};
	struct op_log *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return err_set(err, -ENOMEM, "no memory for the operation log");
	l->options = *options;
	if (!rank_path(l->path, options)) {
		rc = err_set(err, -ENAMETOOLONG, "%.100s…: too long for a name", options->path);
		goto out_free;
	}
	log_place(l);
	/* A part has a name of its own, so that nothing is replaced. */
	way.force = options->force && !l->staged;
	rc = op_log_file_open(&l->file, l->staged ? l->part : l->path, &way, err);
	if (rc < 0)
		goto out_free;
	if (options->rank == 0)
		l->rc = op_log_file_write(l->file, op_row_header, strlen(op_row_header));
	/* Before other ranks append. */
	if (options->rank == 0 && way.shared && l->rc == 0)
		l->rc = op_log_file_flush(l->file);
	pthread_mutex_init(&l->lock, NULL);
	sem_init(&l->wake, 0, 0);
	rc = pthread_create(&l->thread, NULL, op_log_write_rows, l);
	if (rc) {
		rc = err_set(err, -rc, "no thread for the operation log: %s", strerror(rc));
		goto out_file;
	}
	*out = l;
	return 0;
out_file:
	sem_destroy(&l->wake);
	pthread_mutex_destroy(&l->lock);
	op_log_file_close(l->file);
out_free:
	free(l);
	return rc;
}

void op_log_phase(struct op_log *log, const char *phase, uint32_t run)
{
	pthread_mutex_lock(&log->lock);
	snprintf(log->phase, sizeof(log->phase), "%s", phase);
	log->run = run;
	pthread_mutex_unlock(&log->lock);
}

uint64_t op_log_dropped(const struct op_log *log)
{
	return atomic_load(&log->dropped);
}

/* Takes an entry that was left, or a new one. The lock must be held. */
static struct op_log_queue *place_take(struct op_log *l)
{
	struct op_log_queue *p = atomic_load_explicit(&l->queues, memory_order_relaxed);

	while (p && p->joined)
		p = p->next;
	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	if (!ring_init(&p->ring, l->options.rows * RECORD_BYTES)) {
		free(p);
		return NULL;
	}
	p->log = l;
	p->context.thread = l->queue_count++;
	p->next = atomic_load_explicit(&l->queues, memory_order_relaxed);
	atomic_store_explicit(&l->queues, p, memory_order_release);
	return p;
}

int op_log_join(struct op_log_queue **out, const struct store *store, struct err *err)
{
	struct op_log *l = store->op_log;
	struct op_log_queue *p;

	pthread_mutex_lock(&l->lock);
	p = place_take(l);
	if (p) {
		p->joined = true;
		p->dropped = 0;
		memcpy(p->phase, l->phase, sizeof(p->phase));
		/* store->root may be incomplete: a backend may keep less there than what tells
		 * names apart. */
		snprintf(p->root, sizeof(p->root), "%s", strstr(store->uri, "://") + 3);
		p->context = (struct op_row_context){
			.rank = l->options.rank,
			.thread = p->context.thread,
			.run = l->run,
			.utc_ns = l->options.utc_ns,
			.phase = p->phase,
			.root = p->root,
			.scheme = store->ops->scheme,
			.endpoints = store->endpoints,
		};
	}
	pthread_mutex_unlock(&l->lock);
	*out = p;
	return p ? 0 : err_set(err, -ENOMEM, "no memory for the operation log");
}

void op_log_leave(struct op_log_queue *place)
{
	struct op_log *l = place->log;

	if (!ring_empty(&place->ring))
		sem_post(&l->wake);
	while (!ring_empty(&place->ring))
		clock_nap(leave_look_ns);
	atomic_fetch_add(&l->dropped, place->dropped);
	pthread_mutex_lock(&l->lock);
	place->joined = false;
	pthread_mutex_unlock(&l->lock);
}

void op_log_observe(void *place, const struct request *req)
{
	struct op_log_queue *p = place;
	const char *key = req->object ? req->object->key : "";
	size_t key_bytes = strlen(key);
	bool moves = req->op == REQ_READ || req->op == REQ_WRITE;
	struct op_record *r = ring_claim(&p->ring, sizeof(*r) + key_bytes);

	if (!r) {
		p->dropped++;
		return;
	}
	r->submit_ns = req->answer.submit_ns;
	r->first_byte_ns = req->answer.first_byte_ns;
	r->done_ns = req->answer.done_ns;
	r->offset = moves ? req->offset : 0;
	r->bytes = moves ? req->answer.done_bytes : 0;
	r->entries = req->op == REQ_LIST ? req->answer.done_bytes
		     : request_keys(req) ? request_keys(req)
					 : 1;
	r->error = request_failed(req) ? request_text(req) : NULL;
	r->attempts = req->answer.attempts;
	r->endpoint = req->answer.endpoint;
	r->protocol_status = req->answer.protocol_status;
	r->key_bytes = (uint16_t)key_bytes;
	r->op = (uint8_t)req->op;
	memcpy(r->key, key, key_bytes);
	ring_publish(&p->ring);
}

/* Figures that are known only at the end follow the rows, as a comment. */
static void op_log_write_end(struct op_log *l)
{
	char text[128];
	int n = snprintf(text, sizeof(text), "# rank %u of %u: %llu rows, %llu dropped\n",
			 l->options.rank, l->options.ranks, (unsigned long long)l->rows,
			 (unsigned long long)op_log_dropped(l));

	if (l->rc == 0)
		l->rc = op_log_file_write(l->file, text, (size_t)n);
}

int op_log_close(struct op_log *l, uint64_t *rows, uint64_t *dropped, struct err *err)
{
	struct op_log_queue *p, *next;
	int rc;

	atomic_store_explicit(&l->end, true, memory_order_release);
	sem_post(&l->wake);
	pthread_join(l->thread, NULL);
	op_log_write_end(l);
	rc = op_log_file_close(l->file);
	rc = l->rc ? l->rc : rc;
	if (l->staged && !l->options.joins && rename(l->part, l->path) < 0 && rc == 0)
		rc = -errno;
	if (rc < 0)
		err_set(err, rc, "%s: %s", l->path, strerror(-rc));
	*rows = l->rows;
	*dropped = op_log_dropped(l);
	for (p = atomic_load(&l->queues); p; p = next) {
		next = p->next;
		ring_free(&p->ring);
		free(p);
	}
	sem_destroy(&l->wake);
	pthread_mutex_destroy(&l->lock);
	free(l);
	return rc;
}

void op_log_discard(struct op_log *l)
{
	uint64_t rows, dropped;

	unlink(l->staged ? l->part : l->path);
	l->staged = false;
	op_log_close(l, &rows, &dropped, NULL);
}
