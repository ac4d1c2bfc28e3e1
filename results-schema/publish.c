/* SPDX-License-Identifier: Apache-2.0 */
/* Publishing phases: see results.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/numbers.h"
#include "results-schema/append.h"
#include "results-schema/file_head.h"
#include "results-schema/h5_writer.h"
#include "results-schema/phase.h"
#include "results-schema/results_read.h"
#include "results-schema/results_state.h"
#include "results-schema/side_phase.h"
#include "results-schema/staging.h"

/* Joining a series: the phases of all side files copied into the results file, at its end. */

/* The name stays, and so does its place among the others. */
static void join_phase(struct h5_writer *w, struct h5_reader *phases, uint64_t i, const char *path)
{
	hid_t at = h5r_at(phases);
	char name[128];

	h5r_member(phases, i, name, sizeof(name));
	if (!side_phase_enter(phases, name, path))
		return;
	if (H5Ldelete(at, name, H5P_DEFAULT) < 0 ||
	    H5Ocopy(h5r_at(phases), ".", at, name, H5P_DEFAULT, H5P_DEFAULT) < 0)
		h5w_failed(w, "cannot copy /phases/%s from its side file", name);
}

/* Replaces the links in the file by what they lead to. path: of the results file, beside which the
 * side files are. Only rank 0 calls it. */
static void join_side_files(struct h5_writer *w, const char *path)
{
	struct h5_reader phases;
	struct err err = {0};
	uint64_t count;

	h5r_begin(&phases, H5Gopen2(h5w_at(w), "/phases", H5P_DEFAULT), &err);
	count = h5r_members(&phases, RESULTS_PHASES_MAX);
	for (uint64_t i = 0; w->rc == 0 && phases.rc == 0 && i < count; i++) {
		join_phase(w, &phases, i, path);
		if (phases.depth)
			h5r_leave(&phases);
	}
	if (h5r_finish(&phases) < 0)
		h5w_error(w, phases.rc, err.text);
	else if (H5Arename(h5w_at(w), "series", "joined") < 0)
		h5w_failed(w, "cannot join the runs");
}

/* A side file of more than this takes no further phase. */
enum { SIDE_BYTES_MAX = 512 << 10 };

/* What one publication is about, the same on all ranks. */
struct publication {
	char at[PHASE_PATH_BYTES]; /* the group of the phase */
	uint64_t number;
	uint32_t side_number; /* from 1 */
	/* NULL: the phase goes into the results file itself */
	char *side, *side_part;
	uint64_t main_bytes, side_bytes; /* of the files so far */
};

/* Of the run so far, by the monotonic clock: a step of the wall clock changes no duration. */
static uint64_t run_ns(const struct results *r)
{
	if (r->simulated)
		return (uint64_t)(r->simulated_seconds * 1e9);
	return excess_u64(clock_kernel_ns(), r->started_ns);
}

/* With what was measured before an interruption. */
static double run_seconds(const struct results *r)
{
	return r->before_s + (double)run_ns(r) / 1e9;
}

/* Rank 0: what changes beside the phases at each publication. */
static void renew_head(struct results *r, struct h5_writer *w)
{
	file_head_seconds(w, run_seconds(r));
	if (r->own)
		h5w_record(w, own_time_members, OWN_TIMES, r->own);
	if (r->stores)
		file_head_stores(w, r->stores, r->store_rows);
	if (r->answer.head)
		file_head_answer(w, &r->answer, r->answer_runs);
	if (w->rc < 0)
		return;
	free(r->stores);
	r->stores = NULL;
	answer_free(&r->answer);
}

/* Rank 0: what was published so far, without a phase that runs, to be added to. bytes: how many all
 * ranks will write into the file in parallel; 0: only rank 0 writes. */
static int begin_part(const struct results *r, uint64_t bytes, struct err *err)
{
	if (r->at_path != FILE_OWN && !r->base.path)
		return 0;
	if (bytes)
		append_create(r, r->part, bytes);
	if (!r->base.path && r->published_fd >= 0)
		return staging_copy_open(r->published_fd, r->part, err);
	return staging_copy(r->base.path ? r->base.path : r->path, r->part, err);
}

/* Rank 0: the same of the side file of this run. */
static int begin_side(const struct results *r, const struct publication *p, uint64_t bytes,
		      struct err *err)
{
	bool kept = r->side_base.path, empty = kept ? r->side_base.empty : !p->side_bytes;

	if (bytes)
		append_create(r, p->side_part, bytes);
	if (empty)
		return file_head_create_side(p->side_part, r->path, r->key, err);
	return staging_copy(kept ? r->side_base.path : p->side, p->side_part, err);
}

/* Rank 0: keeps the files as they are, without the phase that runs. */
static int keep_base(struct results *r, const struct publication *p, struct err *err)
{
	int rc = r->at_path == FILE_OWN ? staging_keep(&r->base, r->path, err)
					: staging_keep_part(&r->base, r->part, r->path, err);

	return rc < 0 || !p->side ? rc : staging_keep(&r->side_base, p->side, err);
}

static int publish_part(struct results *r, uint64_t requests, struct err *err)
{
	struct stat st;
	int rc;

	r->named[0] = r->named[1];
	if (stat(r->part, &st) == 0)
		r->named[1] = (struct results_named){st.st_ino, requests};
	rc = staging_publish(r->part, r->path, false, err);
	if (rc < 0)
		return rc;
	results_published(r);
	return 0;
}

uint64_t results_interim(const struct results *r)
{
	struct stat st;

	if (!r->path || stat(r->path, &st) < 0)
		return 0;
	for (size_t i = 0; i < 2; i++)
		if (r->named[i].inode == st.st_ino)
			return r->named[i].requests;
	return 0;
}

struct phase_parts {
	const struct publication *p;
	const struct merged *merged;
	const struct blocks *blocks;
};

/* Rank 0: writes through HDF5's ordinary driver into the staging file `part`, which was begun with
 * rc, and reserves room for all that it will hold. */
static int fill_part(struct results *r, const char *part, int rc,
		     void (*fill)(struct results *r, struct h5_writer *w,
				  const struct phase_parts *parts),
		     const struct phase_parts *parts, struct err *err)
{
	struct h5_writer w;

	if (rc < 0)
		return rc;
	h5w_open(&w, part, false, err);
	fill(r, &w, parts);
	rc = h5w_finish(&w);
	if (rc == 0)
		rc = staging_reserve(part, err);
	if (rc < 0)
		unlink(part);
	return rc;
}

/* The group of the phase, but for the rows of ranks, for which there is room. */
static void fill_phase(struct results *r, struct h5_writer *w, const struct phase_parts *parts)
{
	phase_write(w, parts->merged, &r->writer, parts->blocks);
}

/* What all runs share, with the link to the phase. */
static void fill_linked(struct results *r, struct h5_writer *w, const struct phase_parts *parts)
{
	char *link = side_file_link(r->path, r->key, parts->p->side_number);

	if (!link)
		h5w_error(w, -ENOMEM, "no memory for the results");
	renew_head(r, w);
	phase_link(w, parts->p->at, link);
	phase_write_summary(w, parts->merged);
	free(link);
}

/* Both in one file. */
static void fill_whole(struct results *r, struct h5_writer *w, const struct phase_parts *parts)
{
	renew_head(r, w);
	fill_phase(r, w, parts);
	phase_write_summary(w, parts->merged);
}

/* Rank 0: the staging file, with the rows of all ranks where they are gathered, else with room for
 * what each will write. */
static int prepare_rows(struct results *r, const struct phase_parts *parts, struct err *err)
{
	const struct publication *p = parts->p;
	bool alone = parts->blocks->gathered;
	uint64_t rows = blocks_bytes(parts->blocks);
	int rc = parts->merged->phase->running ? keep_base(r, p, err) : 0;

	if (rc < 0)
		return rc;
	if (!p->side) {
		rc = begin_part(r, alone ? 0 : p->main_bytes + rows, err);
		return fill_part(r, r->part, rc, fill_whole, parts, err);
	}
	rc = begin_side(r, p, alone ? 0 : p->side_bytes + rows, err);
	return fill_part(r, p->side_part, rc, fill_phase, parts, err);
}

/* Rank 0: puts the filled file in place. The file that links comes last, so that whatever ends this
 * leads no link astray. */
static int publish_rows(struct results *r, const struct phase_parts *parts, struct err *err)
{
	const struct publication *p = parts->p;
	int rc = 0;

	if (p->side) {
		rc = begin_part(r, 0, err);
		rc = fill_part(r, r->part, rc, fill_linked, parts, err);
		if (rc < 0)
			unlink(p->side_part);
		else
			rc = staging_publish(p->side_part, p->side, false, err);
		if (rc < 0)
			unlink(r->part);
	}
	return rc < 0 ? rc : publish_part(r, parts->merged->phase->requests, err);
}

static uint64_t file_size(const char *path)
{
	struct stat st;

	return path && stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void publication_free(struct publication *p)
{
	free(p->side);
	free(p->side_part);
}

/* Rank 0: the side file that the phase goes into. A full one is not copied again, and runs share
 * none. */
static uint32_t choose_side(struct results *r, uint32_t run)
{
	char *last = side_file_path(r->path, r->key, r->side_number);
	bool again = r->side_base.path; /* a phase that is published once more */

	if (!again && (r->side_run != run || file_size(last) > SIDE_BYTES_MAX))
		r->side_number++;
	r->side_run = run;
	free(last);
	return r->side_number;
}

/* Rank 0: the bytes of the side file of that number. */
static uint64_t side_size(const struct results *r, uint32_t number)
{
	char *path = side_file_path(r->path, r->key, number);
	uint64_t bytes = file_size(path);

	free(path);
	return bytes;
}

/* Tells all ranks what rank 0 knows. Collective. */
static int publication_begin(struct publication *p, struct results *r,
			     const struct results_phase *phase, struct err *err)
{
	struct {
		struct phase_record record;
		uint64_t main_bytes, side_bytes;
		uint32_t side_number;
	} known = {.record = phase->record};
	int rc;

	if (r->writer.first && r->key[0])
		known.side_number = choose_side(r, (uint32_t)known.record.run);
	if (r->writer.first) {
		known.main_bytes = r->at_path == FILE_OWN ? file_size(r->path) : 0;
		known.side_bytes = r->key[0] ? side_size(r, known.side_number) : 0;
	}
	rc = group_broadcast(r->group, &known, sizeof(known));
	*p = (struct publication){.side_number = known.side_number,
				  .number = known.record.number,
				  .main_bytes = known.main_bytes,
				  .side_bytes = known.side_bytes};
	if (rc < 0)
		return rc;
	phase_path(p->at, &known.record);
	if (r->key[0]) {
		p->side = side_file_path(r->path, r->key, p->side_number);
		p->side_part = p->side ? staging_path(p->side, r->draw) : NULL;
		if (!p->side_part)
			rc = err_set(err, -ENOMEM, "no memory for the results");
	}
	return group_agree(r->group, rc, err);
}

/* What the file has now. On rank 0 before the others hear of it: it may be left alone. */
static void note_published(struct results *r, const struct publication *p, bool running)
{
	r->base_kept = running;
	if (!running)
		r->next = p->number + 1;
	if (!r->writer.first) {
		r->at_path = FILE_OWN;
		r->side_number = p->side_number;
	} else if (!running) {
		results_forget_base(r);
	}
}

/* What moves bytes, each step of which all ranks agree on. */
static int publish_steps(struct results *r, const struct phase_parts *parts, struct err *err)
{
	const struct publication *p = parts->p;
	const char *part = p->side ? p->side_part : r->part;
	uint64_t bytes = p->main_bytes + p->side_bytes + blocks_bytes(parts->blocks);
	bool running = parts->merged->phase->running;
	int rc;

	results_step(&r->watch, bytes);
	results_works(&r->watch, true);
	rc = r->writer.first ? prepare_rows(r, parts, err) : 0;
	results_works(&r->watch, false);
	rc = group_agree(r->group, rc, err);
	if (rc < 0)
		return rc;
	if (r->writer.first)
		bytes = p->main_bytes + file_size(part);
	rc = group_broadcast(r->group, &bytes, sizeof(bytes));
	if (rc == 0 && !parts->blocks->gathered)
		rc = append_rows(r, part, p->at, parts->blocks, err);
	/* The file with the links is copied, then both are synced. */
	results_step(&r->watch, 2 * bytes);
	results_works(&r->watch, true);
	if (r->writer.first && rc < 0)
		unlink(part);
	else if (r->writer.first)
		rc = publish_rows(r, parts, err);
	if (rc == 0)
		note_published(r, p, running);
	results_works(&r->watch, false);
	rc = group_agree(r->group, rc, err);
	if (rc == 0 && !r->writer.first)
		note_published(r, p, running);
	return rc;
}

int results_publish(struct results *r, const struct results_phase *phase, struct err *err)
{
	struct publication p = {0};
	struct blocks blocks = {0};
	struct merged m;
	const struct phase_parts parts = {&p, &m, &blocks};
	int rc;

	if (phase->record.within == RECORD_NOT_WITHIN)
		r->simulated_seconds += phase->record.seconds;
	results_step(&r->watch, 0);
	rc = merged_make(&m, phase, r->client_nodes_max, r->group, r->node, err);
	if (rc == 0)
		rc = group_agree(r->group, blocks_make(&blocks, &m, &r->writer, err), err);
	if (rc == 0)
		rc = blocks_gather(&blocks, r->gather_bytes_max, r->group, err);
	if (rc == 0)
		rc = publication_begin(&p, r, phase, err);
	if (rc == 0)
		rc = publish_steps(r, &parts, err);
	publication_free(&p);
	blocks_free(&blocks);
	merged_free(&m);
	return rc;
}

void results_set_run(struct results_phase *phase, const struct results_run *run)
{
	struct phase_record *r = &phase->record;

	r->run = run->run ? run->run : 1;
	r->combination = run->combination ? run->combination : 1;
	r->repeat = run->repeat ? run->repeat : 1;
	r->warmup = run->warmup;
	phase->sets = run->sets;
	phase->set_count = run->set_count < RECORD_SETS_MAX ? run->set_count : RECORD_SETS_MAX;
}

int results_set_ranks(struct results *r, const struct rank_row *ranks)
{
	size_t bytes = r->writer.ranks * sizeof(*ranks);

	if (!r->writer.first)
		return 0;
	if (!r->ranks)
		r->ranks = malloc(bytes);
	if (!r->ranks)
		return -ENOMEM;
	memcpy(r->ranks, ranks, bytes);
	return 0;
}

int results_set_stores(struct results *r, const struct store_facts *rows, uint32_t count)
{
	struct store_facts *copy;

	if (!r->writer.first)
		return 0;
	copy = malloc(count * sizeof(*copy) + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, rows, count * sizeof(*copy));
	free(r->stores);
	r->stores = copy;
	r->store_rows = count;
	return 0;
}

void results_set_answer(struct results *r, struct answered *a, uint32_t runs)
{
	answer_free(&r->answer);
	if (r->writer.first) {
		r->answer = *a;
		r->answer_runs = runs;
		*a = (struct answered){.type = ANSWER_NONE};
	}
	answer_free(a);
}

static void fill_answer(struct results *r, struct h5_writer *w, const struct phase_parts *parts)
{
	(void)parts;
	renew_head(r, w);
}

int results_publish_answer(struct results *r, struct err *err)
{
	int rc = 0;

	results_step(&r->watch, 0);
	results_works(&r->watch, true);
	if (r->writer.first && r->answer.head) {
		rc = fill_part(r, r->part, begin_part(r, 0, err), fill_answer, NULL, err);
		if (rc == 0)
			rc = publish_part(r, 0, err);
	}
	results_works(&r->watch, false);
	return group_agree(r->group, rc, err);
}

void results_set_own(struct results *r, const struct own_times *own)
{
	r->own = own;
}

/* Only a few attributes change, and the runs of a series are joined if that is asked for: rank 0
 * does it alone. */
static int finish_file(struct results *r, enum results_status status, const char *sentence,
		       bool join, struct err *err)
{
	static const char *const names[] = {"interrupted", "done", "failed"};
	bool whole = status == RESULTS_DONE && r->simulated;
	struct file_end end = {.status = whole ? "simulated" : names[status],
			       .sentence = sentence,
			       .ranks = r->ranks};
	struct h5_writer w;
	int rc;

	/* A phase whose end could not be published stays as it was published while it ran. */
	if (r->at_path == FILE_OWN)
		results_forget_base(r);
	rc = begin_part(r, 0, err);
	if (rc < 0)
		return rc;
	end.seconds = run_seconds(r);
	end.finished_utc_ns = r->started_utc_ns + run_ns(r);
	h5w_open(&w, r->part, false, err);
	renew_head(r, &w);
	file_head_finish(&w, &end);
	if (join)
		join_side_files(&w, r->path);
	rc = h5w_finish(&w);
	if (rc == 0 && join)
		rc = staging_reserve(r->part, err);
	if (rc < 0) {
		unlink(r->part);
		return rc;
	}
	rc = publish_part(r, 0, err);
	if (rc == 0 && join)
		side_files_remove(r->path, r->key);
	return rc;
}

void results_set_join(struct results *r, enum results_join join)
{
	r->join = join;
}

/* Rank 0: the bytes that are joined at the end; 0: the files stay as they are. */
static uint64_t joined_bytes(const struct results *r)
{
	uint64_t bytes;

	if (!r->key[0] || r->join == RESULTS_JOIN_NEVER)
		return 0;
	bytes = side_files_bytes(r->path, r->key) + file_size(r->path);
	return r->join == RESULTS_JOIN_SMALL && bytes > RESULTS_JOINED_BYTES ? 0 : bytes;
}

/* Without room for one file, the results stay in several. */
static int finish_series(struct results *r, enum results_status status, const char *sentence,
			 bool join, struct err *err)
{
	int rc = finish_file(r, status, sentence, join, err), apart;
	struct err ignored = {0};

	if (rc == 0 || !join)
		return rc;
	apart = finish_file(r, status, sentence, false, &ignored);
	return r->join == RESULTS_JOIN_SMALL && apart == 0 ? 0 : rc;
}

int results_finish(struct results *r, enum results_status status, const char *sentence,
		   struct err *err)
{
	uint64_t bytes = 0;
	int rc = 0;

	if (r->writer.first)
		bytes = joined_bytes(r);
	rc = group_broadcast(r->group, &bytes, sizeof(bytes));
	results_step(&r->watch, 2 * bytes);
	results_works(&r->watch, true);
	if (rc == 0 && r->writer.first && r->at_path == FILE_OLDER && status != RESULTS_DONE)
		results_discard(r);
	else if (rc == 0 && r->writer.first)
		rc = finish_series(r, status, sentence, bytes > 0, err);
	results_works(&r->watch, false);
	return group_agree(r->group, rc, err);
}
