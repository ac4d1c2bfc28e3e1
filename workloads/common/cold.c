/* SPDX-License-Identifier: Apache-2.0 */
/* Cold reads: see cold.h. */
#include "workloads/common/cold.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/content/random.h"
#include "core/proc.h"
#include "core/units.h"

static const uint64_t residency_stream = 0x72657369; /* "resi" */

static const char *const drop_names[] = {"none", "fadvise", "drop_caches", NULL};
static const char *const when_names[] = {"epochs", "phase", NULL};

#define EVIDENCE_MIN 65536

/* Where this many samples are due on average, at least one would have been taken. */
enum { CERTAIN_LOOKS = 32 };

const struct option cold_options[] = {
	OPT_CHOICE(
		"drop", struct cold_options, drop, .choices = drop_names,
		.help = "how what will be read is dropped from each node's page cache: file by file, or the whole cache, "
			"which only root may"),
	OPT_CHOICE(
		"when", struct cold_options, when, .choices = when_names,
		.help = "when it is dropped: before each epoch what the epoch will read, or everything once before the phase; plain I/O is "
			"one epoch"),
	OPT_BYTES(
		"evidence", struct cold_options, evidence_bytes, .def = RESIDENCY_EVERY_BYTES,
		.max = (uint64_t)1 << 40,
		.help = "average distance between two samples of the page cache, in bytes to be read; 0: no samples"),
	OPT_BYTES(
		"memory_hog", struct cold_options, memory_hog_bytes, .def = 0,
		.max = (uint64_t)1 << 50,
		.help = "memory of each node that haul occupies, so that its page cache cannot use it"),
	OPT_REAL("memory_hog_share", struct cold_options, memory_hog_share, .def_real = 0,
		 .min_real = 0, .max_real = 0.95,
		 .help = "the same as a share of the node's memory"),
	OPT_END,
};

static const char caches_path[] = "/proc/sys/vm/drop_caches";

int cold_check(const struct cold_options *o, const struct job_store *store, const char *path,
	       struct err *err)
{
	const struct backend_ops *ops = store->section->owner;

	if (o->drop != DROP_NONE && !(ops->capabilities & BACKEND_CACHED))
		return err_set(err, -EINVAL,
			       "%s/cold/drop: store \"%s\" (%s://) has no page cache on this side; "
			       "leave it out",
			       path, store->name, ops->scheme);
	if (o->evidence_bytes && o->evidence_bytes < EVIDENCE_MIN)
		return err_set(
			err, -EINVAL,
			"%s/cold/evidence: samples more often than every 64 KiB would slow down what "
			"they measure; use 64 KiB, more, or 0 for none",
			path);
	if (o->memory_hog_bytes && o->memory_hog_share > 0)
		return err_set(
			err, -EINVAL,
			"%s/cold/memory_hog_share: \"memory_hog\" says it in bytes; leave one of "
			"them out",
			path);
	return 0;
}

void cold_size(const struct cold_options *o, uint32_t ranks_per_node, struct demand *out)
{
	out->memory_per_rank += o->memory_hog_bytes / (ranks_per_node ? ranks_per_node : 1);
	if (o->memory_hog_share > 0)
		demand_note(out, "%.0f %% of each node's memory is taken, and not counted here",
			    100 * o->memory_hog_share);
}

static bool cold_leads_node(const struct cold *c)
{
	return c->ctx->place->local_rank == 0;
}

/* Writes all dirty pages first: only clean pages can be dropped. */
static int cold_write_caches(void)
{
	static const char all[] = "3\n";
	int fd = open(caches_path, O_WRONLY | O_CLOEXEC), rc = 0;

	if (fd < 0)
		return -errno;
	sync();
	if (write(fd, all, sizeof(all) - 1) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

int cold_drop_caches(struct cold *c, struct err *err)
{
	int rc = cold_leads_node(c) ? cold_write_caches() : 0;

	if (rc < 0)
		err_set(err, rc,
			"%s/cold/drop: %s: %s; only root may, on every node: \"fadvise\" drops what is "
			"read",
			c->ctx->phase->path, caches_path, strerror(-rc));
	return group_agree(c->ctx->group, rc, err);
}

/* Written to once a page, so that it is there and not only promised. */
static int cold_take_memory(struct cold *c, struct err *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t available = proc_memory_bytes("MemAvailable");
	char wanted[UNITS_TEXT_BYTES], has[UNITS_TEXT_BYTES];
	char *hog;

	if (available && c->hog_bytes >= available)
		return err_set(err, -ENOMEM,
			       "%s/cold/memory_hog: %s are wanted and %s are free on this node",
			       c->ctx->phase->path,
			       units_bytes_binary(wanted, (double)c->hog_bytes),
			       units_bytes_binary(has, (double)available));
	hog = mmap(NULL, c->hog_bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (hog == MAP_FAILED)
		return err_set(err, -errno, "%s/cold/memory_hog: %s: %s", c->ctx->phase->path,
			       units_bytes_binary(wanted, (double)c->hog_bytes), strerror(errno));
	c->hog = hog;
	for (uint64_t at = 0; at < c->hog_bytes; at += page)
		hog[at] = 1;
	return 0;
}

int cold_open(struct cold *c, const struct cold_options *options, const struct phase_context *ctx,
	      struct err *err)
{
	int rc = 0;

	*c = (struct cold){.options = options, .ctx = ctx, .hog_bytes = options->memory_hog_bytes};
	if (options->memory_hog_share > 0)
		c->hog_bytes = (uint64_t)((double)proc_memory_bytes("MemTotal") *
					  options->memory_hog_share);
	if (c->hog_bytes) {
		rc = cold_leads_node(c) ? cold_take_memory(c, err) : 0;
		rc = group_agree(ctx->group, rc, err);
	}
	if (rc == 0 && options->drop == DROP_CACHES)
		rc = cold_drop_caches(c, err);
	return rc;
}

void cold_close(struct cold *c)
{
	if (c->hog)
		munmap(c->hog, c->hog_bytes);
	c->hog = NULL;
}

int cold_drop_one(struct cold *c, const struct cold_objects *objects, uint64_t number,
		  struct err *err)
{
	int64_t stayed;

	for (uint32_t i = 0; i < objects->parts; i++) {
		struct object o = {0};

		objects->key(objects->argument, number, i, o.key);
		stayed = store_evict(objects->store, &o, 0, 0);
		/* The reader reports a missing file when it comes to it. */
		if (stayed < 0 && stayed != -ENOENT)
			return err_set(err, (int)stayed, "%s/%s: dropping its pages: %s",
				       objects->store->uri, o.key, strerror((int)-stayed));
		if (stayed >= 0)
			c->stayed_bytes += (uint64_t)stayed;
	}
	return 0;
}

bool cold_ends(const struct cold *c)
{
	const struct phase_context *ctx = c->ctx;

	return (ctx->stop && stop_asked(ctx->stop)) ||
	       (ctx->deadline_ns && clock_now(ctx->clock) >= ctx->deadline_ns);
}

int cold_drop_all(struct cold *c, const struct cold_objects *objects, struct err *err)
{
	const struct rank_place *place = c->ctx->place;
	int rc = 0;

	if (c->options->drop == DROP_CACHES)
		return cold_drop_caches(c, err);
	for (uint64_t i = place->local_rank; i < objects->count && rc == 0 && !cold_ends(c);
	     i += place->local_ranks)
		rc = cold_drop_one(c, objects, i, err);
	return group_agree(c->ctx->group, rc, err);
}

void cold_warn(const struct cold *c, const struct store *store)
{
	if (c->options->drop != DROP_NONE && store->cache == CACHE_MEMORY &&
	    c->ctx->group->rank == 0)
		log_say(c->ctx->log, LOG_WARNING,
			"%s: is this node's memory (tmpfs); whatever is dropped, its reads are "
			"never cold",
			store->uri);
}

void cold_say(struct phase_context *ctx, const struct cold_options *o, const struct store *store,
	      uint64_t sampled_bytes, uint64_t resident_bytes, uint64_t read_bytes)
{
	uint64_t words[3] = {sampled_bytes, resident_bytes, read_bytes};

	if (group_allreduce(ctx->group, MERGE_SUM, words, 3) < 0)
		return;
	if (store->cache == CACHE_MEMORY)
		workload_say(ctx, "the store is this node's memory (tmpfs) and never cold");
	else if (words[0])
		workload_say(ctx, "%.1f %% of the bytes were in the page cache",
			     100 * (double)words[1] / (double)words[0]);
	else if (store->cache == CACHE_PAGES && o->evidence_bytes &&
		 words[2] / o->evidence_bytes >= CERTAIN_LOOKS)
		workload_say(
			ctx,
			"what was in the page cache is unknown: Linux tells only users who may write the "
			"files");
}

void residency_init(struct residency *r, uint64_t every_bytes)
{
	*r = (struct residency){.every_bytes = every_bytes};
}

static void residency_look_once(struct residency *r, const struct store *store,
				const struct object *o, uint64_t offset, uint64_t length)
{
	int64_t resident;

	if (length > RESIDENCY_LOOK_BYTES)
		length = RESIDENCY_LOOK_BYTES;
	resident = store_resident(store, o, offset, length);
	if (resident >= 0) {
		r->sampled_bytes += length;
		r->resident_bytes += (uint64_t)resident;
	}
	r->looks++;
	/* Half to one and a half times the average distance, so that no file size falls into step
	 * with it. */
	r->skip_bytes =
		r->every_bytes / 2 + random_at(residency_stream, r->looks, 0) % r->every_bytes;
}

void residency_look(struct residency *r, const struct store *store, const struct object *o,
		    uint64_t offset, uint64_t length)
{
	uint64_t at = 0;

	if (!r->every_bytes || store->cache == CACHE_UNKNOWN)
		return;
	while (length - at > r->skip_bytes) {
		at += r->skip_bytes;
		residency_look_once(r, store, o, offset + at, length - at);
	}
	r->skip_bytes -= length - at;
}
