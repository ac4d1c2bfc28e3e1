/* SPDX-License-Identifier: Apache-2.0 */
/* Reading results.h5: see results_read.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "results-schema/file_head.h"
#include "results-schema/h5.h"
#include "results-schema/h5_reader.h"
#include "results-schema/read_phase.h"
#include "results-schema/results_read.h"
#include "results-schema/rows.h"
#include "results-schema/side_phase.h"

/* Cache of the details of phases (results_read.h): of the file's first phases they stay in memory
 * as long as there is room. Those of the others are read when somebody asks for them
 * (results_whole), and replace each other. So a file of many runs on many ranks takes bounded
 * memory. One thread. */

struct phase_cache {
	char *path;
	struct results_file head; /* only what reading details asks for */
	uint64_t room;
	const struct results_phase_read *of; /* whose details these are; NULL: nobody's */
	struct results_phase_read whole;     /* a copy of its record, and the details */
};

/* f: its head has been read. room: bytes for details that stay. NULL: no memory. */
static struct phase_cache *phase_cache_new(const struct results_file *f, uint64_t room)
{
	struct phase_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->room = room;
	c->head.ranks = f->ranks;
	c->head.nodes = f->nodes;
	c->path = strdup(f->path);
	if (c->path)
		return c;
	free(c);
	return NULL;
}

/* NULL is allowed */
static void phase_cache_free(struct phase_cache *c)
{
	if (!c)
		return;
	read_details_free(&c->whole);
	free(c->path);
	free(c);
}

/* Takes over the details of a phase that has been read: they stay in it, or are dropped until they
 * are asked for. */
static void phase_cache_take(struct phase_cache *c, struct results_phase_read *p)
{
	uint64_t bytes = read_details_bytes(p);

	if (bytes <= c->room) {
		c->room -= bytes;
		return;
	}
	read_details_free(p);
	p->cache = c;
}

static int phase_cache_read(struct phase_cache *c, const char *member, struct err *err)
{
	struct h5_reader r;

	h5r_begin(&r, h5r_file(c->path), err);
	h5r_enter(&r, "phases");
	side_phase_enter(&r, member, c->path);
	read_details(&r, &c->head, &c->whole);
	return h5r_finish(&r);
}

const struct results_phase_read *results_whole(const struct results_phase_read *p)
{
	struct phase_cache *c = p->cache;
	struct err err = {0};

	if (!c)
		return p;
	if (c->of == p)
		return &c->whole;
	read_details_free(&c->whole);
	c->whole.record = p->record;
	/* Borrowed: details are read by it. */
	c->whole.merged = p->merged;
	if (phase_cache_read(c, p->member, &err) < 0)
		read_details_free(&c->whole);
	c->of = p;
	return &c->whole;
}

const struct results_table *results_ranks(const struct results_phase_read *p)
{
	return &results_whole(p)->ranks;
}

const struct hist *results_find_hist(const struct results_phase_read *phase, const char *name)
{
	const struct results_hist *found = read_hist_named(results_whole(phase), name);

	return found ? &found->hist : NULL;
}

const struct results_hist *results_role_hist(const struct results_phase_read *phase, enum role role)
{
	return read_hist_of_role(results_whole(phase), role);
}

const struct results_rows *results_find_table(const struct results_phase_read *phase,
					      const char *name)
{
	phase = results_whole(phase);
	for (uint32_t i = 0; i < phase->table_count; i++)
		if (strcmp(phase->tables[i].name, name) == 0)
			return &phase->tables[i];
	return NULL;
}

static void load_head(struct h5_reader *r, struct results_file *f);
static void load_answers(struct h5_reader *r, struct results_file *f);
static void load_phases(struct h5_reader *r, struct results_file *f, bool details,
			uint64_t room_bytes);

static int open_file(const char *path, struct results_file *f, hid_t *file, struct err *err)
{
	struct stat st;
	/* A FIFO would wait for its writer. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	*file = H5I_INVALID_HID;
	if (fd < 0 || fstat(fd, &st) < 0) {
		int rc = -errno;

		if (fd >= 0)
			close(fd);
		return err_set(err, rc, "%s: %s", path, strerror(-rc));
	}
	close(fd);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL,
			       "%s: is not a results file of haul: it is not a regular file", path);
	f->file_bytes = (uint64_t)st.st_size;
	*file = h5r_file(path);
	H5Eclear2(H5E_DEFAULT);
	return *file < 0 ? err_set(err, -EINVAL,
				   "%s: is not a results file of haul: HDF5 cannot open it", path)
			 : 0;
}

/* details: those of each phase are read, and stay as long as there is room. */
static int load_within(struct results_file **out, const char *path, bool details,
		       uint64_t room_bytes, struct err *err)
{
	struct results_file *f = calloc(1, sizeof(*f));
	struct h5_reader r;
	hid_t file;
	int rc;

	*out = NULL;
	if (f)
		f->path = strdup(path);
	if (!f || !f->path) {
		rc = err_set(err, -ENOMEM, "no memory for a results file");
		goto out_free;
	}
	rc = open_file(path, f, &file, err);
	if (rc < 0)
		goto out_free;
	h5r_begin(&r, file, err);
	load_head(&r, f);
	load_answers(&r, f);
	load_phases(&r, f, details, room_bytes);
	rc = h5r_finish(&r);
	if (rc < 0)
		err_wrap(err, rc, "%s: is not a results file of haul", path);
	if (rc == 0) {
		*out = f;
		return 0;
	}
out_free:
	results_unload(f);
	return rc;
}

int results_load(struct results_file **out, const char *path, struct err *err)
{
	return load_within(out, path, true, RESULTS_ROOM_BYTES, err);
}

int results_load_within(struct results_file **out, const char *path, uint64_t room_bytes,
			struct err *err)
{
	return load_within(out, path, true, room_bytes, err);
}

int results_open(struct results_file **out, const char *path, struct err *err)
{
	return load_within(out, path, false, 0, err);
}

void results_unload(struct results_file *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; f->phases && i < f->phase_count; i++)
		read_phase_free(&f->phases[i]);
	free(f->phases);
	phase_cache_free(f->cache);
	free(f->path);
	free(f->build);
	free(f->simulated);
	free(f->command_line);
	free(f->error);
	free(f->job_text);
	free(f->hosts);
	free(f->stores);
	free(f->links);
	free(f->machines);
	answer_free(&f->answer);
	free(f);
}

static void load_nodes(struct h5_reader *r, struct results_file *f)
{
	hid_t type = rows_record_type(&rows_node);
	uint64_t count;
	struct node_row *rows =
		h5r_list(r, "nodes", type, RESULTS_NODES_MAX, sizeof(*rows), &count);

	h5_close(type);
	if (count != f->nodes)
		h5r_error(r, -EINVAL, "nodes has %llu rows", (unsigned long long)count);
	rows_end_texts(&rows_node, rows, count);
	f->hosts = h5r_room(r, count, sizeof(*f->hosts));
	f->links = h5r_room(r, count, sizeof(*f->links));
	f->machines = h5r_room(r, count, sizeof(*f->machines));
	for (uint64_t i = 0; r->rc == 0 && i < count; i++) {
		snprintf(f->hosts[i], sizeof(f->hosts[i]), "%s", rows[i].host);
		f->links[i] =
			(struct results_links){rows[i].nic_bytes_per_s, rows[i].rdma_bytes_per_s};
		f->machines[i].cores = rows[i].cores;
		f->machines[i].memory_bytes = rows[i].memory_bytes;
		snprintf(f->machines[i].cpu, sizeof(f->machines[i].cpu), "%s", rows[i].cpu);
		f->node_memory_bytes += (double)rows[i].memory_bytes / (double)f->nodes;
	}
	free(rows);
}

static void load_stores(struct h5_reader *r, struct results_file *f)
{
	hid_t type = rows_record_type(&rows_store);

	f->stores = h5r_list(r, "stores", type, RESULTS_STORES_MAX, sizeof(*f->stores),
			     &f->store_count);
	rows_end_texts(&rows_store, f->stores, f->store_count);
	h5_close(type);
}

static void load_head(struct h5_reader *r, struct results_file *f)
{
	uint64_t version = 0;

	h5r_u64(r, "schema_version", &version);
	if (version != RESULTS_SCHEMA_VERSION)
		h5r_error(r, -EINVAL, "its schema is version %llu; this haul reads version %d only",
			  (unsigned long long)version, RESULTS_SCHEMA_VERSION);
	f->schema_version = (uint32_t)version;
	h5r_text_into(r, "haul_version", f->version, sizeof(f->version));
	h5r_text_into(r, "name", f->name, sizeof(f->name));
	h5r_text_into(r, "status", f->status, sizeof(f->status));
	h5r_text_into(r, "started", f->started, sizeof(f->started));
	h5r_text_into(r, "finished", f->finished, sizeof(f->finished));
	f->build = h5r_text(r, "build");
	f->command_line = h5r_text(r, "command_line");
	f->error = h5r_text(r, "error");
	h5r_real(r, "seconds", &f->seconds);
	own_times_init(&f->own);
	h5r_record(r, own_time_members, OWN_TIMES, &f->own);
	h5r_u64(r, "ranks", &f->ranks);
	h5r_u64(r, "nodes", &f->nodes);
	h5r_u64(r, "runs", &f->runs);
	if (h5r_has_attribute(r, "resumed")) {
		h5r_u64(r, "resumed", &f->resumed);
		h5r_u64(r, "resumed_after", &f->resumed_after);
	}
	if (f->ranks > RESULTS_RANKS_MAX || f->nodes > RESULTS_NODES_MAX)
		h5r_error(r, -EINVAL, "it says that there were %llu ranks on %llu nodes",
			  (unsigned long long)f->ranks, (unsigned long long)f->nodes);
	f->job_text = h5r_text_data(r, "job");
	if (h5r_has_attribute(r, "simulated"))
		f->simulated = h5r_text(r, "simulated");
	load_nodes(r, f);
	load_stores(r, f);
}

static void load_answer(struct h5_reader *r, enum answer_type type, struct answered *a)
{
	const struct answer_kind *kind = &answer_kinds[type];
	hid_t memory;

	if (a->head || !h5r_has(r, kind->name))
		return;
	if (answer_make(a, type, 0) < 0) {
		h5r_error(r, -ENOMEM, "no memory for its answer");
		return;
	}
	memory = rows_record_type(&kind->rows);
	h5r_enter(r, kind->name);
	h5r_record(r, kind->head.members, (unsigned)kind->head.count, a->head);
	free(a->rows);
	a->rows = h5r_list(r, kind->rows_name, memory, kind->rows_max, kind->rows.size, &a->count);
	rows_end_texts(&kind->rows, a->rows, a->count);
	answer_join(a);
	h5r_leave(r);
	h5_close(memory);
	/* The run has ended before it could give one. */
	if (type == ANSWER_FIND && !((const struct find_head *)a->head)->path[0])
		answer_free(a);
	else if (type == ANSWER_FIND && r->rc == 0)
		find_settle(a);
}

static void load_answers(struct h5_reader *r, struct results_file *f)
{
	for (int i = ANSWER_NONE + 1; i < ANSWERS; i++)
		load_answer(r, (enum answer_type)i, &f->answer);
}

static int by_number(const void *a, const void *b)
{
	const struct phase_record *x = &((const struct results_phase_read *)a)->record;
	const struct phase_record *y = &((const struct results_phase_read *)b)->record;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* The phases of a series are in side files. HDF5 would follow a link to anywhere, so the side file
 * is opened here. */
static void load_phase(struct h5_reader *r, uint64_t i, struct results_file *f, bool details)
{
	struct results_phase_read *p = &f->phases[f->phase_count++];

	h5r_member(r, i, p->member, sizeof(p->member));
	phase_record_init(&p->record);
	p->record.number = strtoull(p->member, NULL, 10);
	p->gone = side_phase_gone(r, p->member, f->path);
	if (p->gone)
		return;
	p->side_bytes = side_phase_enter(r, p->member, f->path);
	read_headline(r, p);
	if (details) {
		read_details(r, f, p);
		phase_cache_take(f->cache, p);
	} else {
		p->cache = f->cache;
	}
	h5r_leave(r);
}

/* Each side file counts once, however many phases are in it. */
static void add_side_bytes(struct results_file *f)
{
	uint64_t run = 0;

	for (uint32_t i = 0; i < f->phase_count; i++) {
		if (f->phases[i].record.run != run)
			f->file_bytes += f->phases[i].side_bytes;
		run = f->phases[i].record.run;
	}
}

static void load_phases(struct h5_reader *r, struct results_file *f, bool details,
			uint64_t room_bytes)
{
	uint64_t count;

	h5r_enter(r, "phases");
	count = h5r_members(r, RESULTS_PHASES_MAX);
	f->phases = h5r_room(r, count, sizeof(*f->phases));
	f->cache = phase_cache_new(f, room_bytes);
	if (!f->cache)
		h5r_error(r, -ENOMEM, "no memory for it");
	for (uint64_t i = 0; r->rc == 0 && i < count; i++)
		load_phase(r, i, f, details);
	h5r_leave(r);
	if (r->rc < 0)
		return;
	qsort(f->phases, f->phase_count, sizeof(*f->phases), by_number);
	read_summary(r, f);
	add_side_bytes(f);
}
