/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of files that haul did not make, counted: see dataset_count.h. */
#include "workloads/dataset/dataset_count.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/queue/failure.h"
#include "backends/queue/queue.h"
#include "core/numbers.h"
#include "core/time_ns.h"
#include "core/units.h"

const char *const dataset_known_words[] = {[KNOWN_COUNTED] = "counted",
					   [KNOWN_BY_SIZE] = "by size",
					   [KNOWN_AS_PLANNED] = "as planned"};

enum { COUNT_ALIGNMENT = 4096 };

/* The first file of a rank is worth more than this. */
static const uint64_t count_first_ns = 10 * NS_PER_S;

/* A rank that counts. */
struct counter {
	const struct dataset *dataset;
	struct queue queue;
	struct object file, sides[COUNT_SIDES]; /* sides: key "" where none is open */
	void *window;
	uint64_t until_ns; /* of this file */
	struct dataset_counts *counts;
};

static int counter_refuse(const struct counter *c, int rc, const char *text, struct err *err)
{
	return failure_compose(err, rc, c->queue.channel.store, c->file.key, text, 0, 0);
}

static int counter_take(struct counter *c, struct object *o, uint64_t offset, uint8_t *out,
			uint32_t n)
{
	struct request req = {
		.op = REQ_READ, .object = o, .data = c->window, .offset = offset, .length = n};
	int rc = clock_now(c->queue.channel.store->clock) < c->until_ns ? queue_do(&c->queue, &req)
									: -ETIME;

	if (rc < 0)
		return rc;
	memcpy(out, (uint8_t *)c->window + req.answer.lead, n);
	c->counts->read_bytes += n;
	return 0;
}

static int counter_read(void *user, uint64_t offset, uint8_t *out, uint32_t n)
{
	struct counter *c = user;

	return counter_take(c, &c->file, offset, out, n);
}

static int counter_read_side(void *user, unsigned side, uint64_t offset, uint8_t *out, uint32_t n)
{
	struct counter *c = user;

	return counter_take(c, &c->sides[side], offset, out, n);
}

/* The name of what lies beside a file. */
static bool count_side_key(const char *file, const char *suffix, bool instead,
			   char key[OBJECT_KEY_BYTES])
{
	const char *slash = strrchr(file, '/'), *dot = strrchr(file, '.');
	int keep =
		instead && dot && (!slash || dot > slash) ? (int)(dot - file) : (int)strlen(file);

	return snprintf(key, OBJECT_KEY_BYTES, "%.*s%s", keep, file, suffix) < OBJECT_KEY_BYTES &&
	       strcmp(key, file) != 0;
}

static void counter_close(struct counter *c, struct object *o)
{
	if (o->key[0])
		queue_do(&c->queue, &(struct request){.op = REQ_CLOSE, .object = o});
	o->key[0] = '\0';
}

static int counter_beside(void *user, unsigned side, const char *suffix, bool instead,
			  uint64_t *bytes)
{
	struct counter *c = user;
	struct object *o = &c->sides[side];
	struct request req = {.op = REQ_STAT, .object = o};
	int rc;

	counter_close(c, o);
	memset(o, 0, sizeof(*o));
	if (!count_side_key(c->file.key, suffix, instead, o->key))
		return -ENOENT;
	rc = queue_do(&c->queue, &req);
	*bytes = req.answer.done_bytes;
	if (rc == 0)
		rc = queue_do(&c->queue, &(struct request){.op = REQ_OPEN, .object = o});
	if (rc < 0)
		o->key[0] = '\0';
	return rc;
}

/* The format's mark in front; without it the file is another one. */
static int counter_mark(struct counter *c, uint64_t bytes, const char **wrong)
{
	const struct format_magic *magic = &format_table()[c->dataset->options.format]->magic;
	uint8_t found[FORMAT_MAGIC_BYTES] = {0};
	int rc;

	if (!magic->bytes)
		return 0;
	rc = bytes < magic->offset + magic->count
		     ? 0
		     : counter_read(c, magic->offset, found, magic->count);
	if (rc == 0 && memcmp(found, magic->bytes, magic->count) != 0)
		*wrong = "does not begin as a file of the data set's format does";
	return rc;
}

/* The open file: whether it holds as many samples as the job says. */
static int counter_file(struct counter *c, uint64_t bytes, struct err *err)
{
	const struct dataset_options *o = &c->dataset->options;
	format_count *count = format_table()[o->format]->count;
	struct count_file f = {.read = counter_read,
			       .beside = counter_beside,
			       .read_side = counter_read_side,
			       .user = c,
			       .size = bytes,
			       .expected = o->samples_per_file,
			       .dlio = c->dataset->naming == NAMING_DLIO ||
				       c->dataset->naming == NAMING_DLIO_VALID};
	char held[UNITS_COUNTED_BYTES], text[256];
	const char *wrong = NULL;
	uint64_t samples = 0;
	int rc = count ? counter_mark(c, bytes, &wrong) : 0;

	if (rc == 0 && count && !wrong)
		rc = count(&f, &samples, &wrong);
	if (rc < 0)
		return rc;
	if (wrong)
		return counter_refuse(c, -EILSEQ, wrong, err);
	if (samples && samples != o->samples_per_file) {
		snprintf(text, sizeof(text),
			 "holds %s, the job says %" PRIu64
			 "; set the data set's \"samples_per_file\" to %" PRIu64,
			 units_counted(held, samples, "sample"), o->samples_per_file, samples);
		return counter_refuse(c, -EINVAL, text, err);
	}
	c->counts->counted += samples != 0;
	c->counts->by_size += !count && bytes == o->samples_per_file * o->sample_bytes;
	return 0;
}

/* What the file lacks of its blocks, and what the look at it leaves behind. */
static void counter_leave(struct counter *c, bool cold)
{
	struct store *store = c->queue.channel.store;
	int64_t holes = store_holes(store, &c->file);

	c->counts->hole_files += holes > 0;
	c->counts->hole_bytes += holes > 0 ? (uint64_t)holes : 0;
	if (cold)
		store_evict(store, &c->file, 0, 0);
	for (unsigned side = 0; side < COUNT_SIDES; side++)
		counter_close(c, &c->sides[side]);
}

/* A file that cannot be read is an error of the phase, which says what comes of it. err->text stays
 * empty then. */
static int counter_look(struct counter *c, uint64_t file, struct err *err)
{
	struct store *store = c->queue.channel.store;
	struct request req = {.op = REQ_STAT, .object = &c->file};
	uint64_t bytes;
	bool cold;
	int rc;

	memset(&c->file, 0, sizeof(c->file));
	dataset_key(c->dataset, file, c->file.key);
	rc = queue_do(&c->queue, &req);
	bytes = req.answer.done_bytes;
	if (rc < 0 || !bytes)
		return 0;
	req = (struct request){.op = REQ_OPEN, .object = &c->file};
	if (queue_do(&c->queue, &req) < 0)
		return 0;
	cold = store_resident(store, &c->file, 0, bytes) == 0;
	rc = counter_file(c, bytes, err);
	counter_leave(c, cold);
	queue_do(&c->queue, &(struct request){.op = REQ_CLOSE, .object = &c->file});
	return rc == -EILSEQ || rc == -EINVAL || rc == -ETIME ? rc : 0;
}

static int counter_files(struct counter *c, struct store *store, const struct group *group,
			 uint64_t within_ns, struct err *err)
{
	uint64_t files = c->dataset->options.files, start_ns = clock_now(store->clock), now_ns;
	int rc = queue_open(&c->queue, store, 1, err);

	if (rc < 0)
		return rc;
	queue_unlogged(&c->queue);
	if (posix_memalign(&c->window, COUNT_ALIGNMENT,
			   queue_buffer_bytes(store, COUNT_PIECE_BYTES)) != 0)
		rc = err_set(err, -ENOMEM, "no memory to count samples");
	c->until_ns = start_ns + within_ns + count_first_ns;
	for (uint64_t file = group->rank; rc == 0 && file < files; file += group->size) {
		rc = counter_look(c, file, err);
		c->counts->looked += rc == 0;
		now_ns = clock_now(store->clock);
		c->until_ns = start_ns + within_ns;
		if (rc == 0 && now_ns >= c->until_ns && files - file > group->size)
			rc = -ETIME;
	}
	c->counts->late = rc == -ETIME;
	c->counts->ns = clock_now(store->clock) - start_ns;
	free(c->window);
	queue_close(&c->queue);
	return rc == -ETIME ? 0 : rc;
}

/* Rank 0 looks for what the first file has beside it. */
static int count_pair(struct dataset *d, struct store *store, struct group *group, struct err *err)
{
	struct object o = {0};
	struct request req = {.op = REQ_STAT, .object = &o};
	char key[OBJECT_KEY_BYTES];
	uint64_t pair = 0;
	struct queue q;
	int rc = 0;

	if (group->rank == 0 && d->format->beside[0][0]) {
		rc = queue_open(&q, store, 1, err);
		if (rc == 0) {
			queue_unlogged(&q);
			dataset_object_key(d, 0, 1, o.key);
			pair = queue_do(&q, &req) == -ENOENT;
			memset(&o, 0, sizeof(o));
			dataset_key(d, 0, key);
			pair = pair && count_side_key(key, ".idx", true, o.key) &&
			       queue_do(&q, &req) == 0;
			queue_close(&q);
		}
	}
	rc = group_agree(group, rc, err);
	if (rc == 0)
		rc = group_broadcast(group, &pair, sizeof(pair));
	if (rc == 0 && pair) {
		d->format = &format_parts;
		d->objects = 1;
	}
	return rc;
}

int dataset_find_index(struct dataset *d, struct store *store, struct group *group, struct err *err)
{
	if (!d->existing || d->options.sizes != SIZES_STAT || !store_can(store, BACKEND_CONTENT))
		return 0;
	return count_pair(d, store, group, err);
}

int dataset_count(const struct dataset *d, struct store *store, struct group *group,
		  uint64_t within_ns, struct dataset_proof *out, struct err *err)
{
	struct counter c = {.dataset = d, .counts = &out->own};
	int rc;

	*out = (struct dataset_proof){.files = d->options.files};
	if (!d->existing || !store_can(store, BACKEND_CONTENT))
		return 0;
	rc = group_agree(group, counter_files(&c, store, group, within_ns, err), err);
	out->all = out->own;
	if (rc == 0)
		rc = group_allreduce(group, MERGE_SUM, (uint64_t *)&out->all,
				     offsetof(struct dataset_counts, ns) / sizeof(uint64_t));
	return rc < 0 ? rc : group_allreduce(group, MERGE_MAX, &out->all.ns, 1);
}

enum dataset_known dataset_known(const struct dataset_proof *p)
{
	return p->files && p->all.counted == p->files   ? KNOWN_COUNTED
	       : p->files && p->all.by_size == p->files ? KNOWN_BY_SIZE
							: KNOWN_AS_PLANNED;
}

void dataset_claim(const struct dataset_proof *p, struct claim *c)
{
	enum dataset_known known = dataset_known(p);
	char text[CLAIM_TEXT_BYTES], files[UNITS_COUNTED_BYTES], bytes[UNITS_TEXT_BYTES],
		time[UNITS_TEXT_BYTES], counted[UNITS_TEXT_BYTES];

	units_counted(files, p->files, "file");
	if (p->all.hole_files) {
		snprintf(text, sizeof(text), "%s of %" PRIu64 " of %s were never written: holes",
			 units_bytes_decimal(bytes, (double)p->all.hole_bytes), p->all.hole_files,
			 files);
		claim_add(c, CLAIM_UNKNOWN, text, "files that are written whole");
	}
	if (known == KNOWN_COUNTED)
		snprintf(text, sizeof(text), "counted in %s: %s read in %s", files,
			 units_bytes_decimal(bytes, (double)p->all.read_bytes),
			 units_time(time, (double)p->all.ns / NS_PER_S));
	else if (known == KNOWN_BY_SIZE)
		snprintf(text, sizeof(text), "%s have the size of their samples", files);
	else
		snprintf(text, sizeof(text), "counted in %s of %s",
			 units_count(counted, p->all.counted), files);
	claim_add(c, known == KNOWN_COUNTED ? CLAIM_HELD : CLAIM_UNKNOWN, text,
		  known == KNOWN_BY_SIZE ? "a format whose files say what they hold"
		  : p->all.late          ? "a longer \"count\" of the phase"
					 : "files that say how many samples they hold");
}
