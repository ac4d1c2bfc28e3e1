/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded arrivals: see arrivals.h. */
#include "workloads/kvcache/requests/arrivals.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/line_reader.h"
#include "core/numbers.h"
#include "core/time_ns.h"
#include "core/units.h"

enum { ARRIVALS_BINARY = 1, BLOCK_SIZES = 24, BLOCK_SIZES_ALL = (1 << BLOCK_SIZES) - 1 };

#define NS_MAX (UINT64_C(1) << 62)

static const double rate_least = 0.001;

static int arrivals_wrap(const struct arrivals *a, int rc, struct err *err)
{
	if (a->format == ARRIVALS_FRAMES)
		return err_wrap(err, rc, "frame %" PRIu64, a->frames.number);
	return err_wrap(err, rc, "line %" PRIu64, line_reader_number(a->lines));
}

/* The next line that is not blank. Returns 1, or 0 at the end. */
static int arrivals_take(struct arrivals *a, char **line, size_t *length, struct err *err)
{
	int rc;

	do {
		rc = line_reader_next(a->lines, line, length, err);
	} while (rc > 0 && strspn(*line, " \t") == *length);
	return rc;
}

static int arrivals_header(struct arrivals *a, struct err *err)
{
	char *line;
	size_t length;
	int rc = arrivals_take(a, &line, &length, err);

	if (rc == 0)
		return err_set(err, -EINVAL, "is empty");
	if (rc > 0 && (strncmp(line, "Timestamp,Operation,", 20) == 0 || strchr(line, '\t') ||
		       strncmp(line, "fio version", 11) == 0))
		return err_set(
			err, -EINVAL,
			"has operations, not requests of users: a phase \"replay\" reads it");
	if (rc > 0)
		rc = arrivals_table_header(a, line, err);
	return rc < 0 ? arrivals_wrap(a, rc, err) : 0;
}

/* Which numbers of tokens a block can have: a last block that is not full has an id of its own
 * (Mooncake), or none. */
static uint32_t arrivals_sizes(uint64_t tokens, uint64_t blocks)
{
	uint32_t sizes = 0;

	for (unsigned k = 0; k < BLOCK_SIZES; k++)
		if (tokens >> k == blocks || (tokens + (UINT64_C(1) << k) - 1) >> k == blocks)
			sizes |= 1u << k;
	return sizes;
}

/* Whether the blocks of a line fit its tokens and the lines before it. The first time that the text
 * is read, sizes that do not fit are ruled out; so the second time the same lines are refused. */
static int arrivals_fit(struct arrivals *a, const struct arrivals_line *row, struct err *err)
{
	struct arrivals_totals *t = &a->totals;
	uint32_t sizes, count = a->ids.count;

	if (a->votes)
		a->votes[BLOCK_SIZES] += row->block_tokens > 0;
	else if (row->block_tokens != t->block_tokens &&
		 (t->block_tokens || t->block_sizes != BLOCK_SIZES_ALL))
		return err_set(err, -EINVAL,
			       "says that a block has %" PRIu64
			       " tokens, and the lines before it %" PRIu64 " (0: they do not say)",
			       row->block_tokens, t->block_tokens);
	if (row->block_tokens) {
		if (row->context / row->block_tokens != count)
			return err_set(err, -EINVAL,
				       "has %" PRIu32 " blocks for %" PRIu64
				       " tokens, which does not fit chunks of %" PRIu64 " tokens",
				       count, row->context, row->block_tokens);
		if (!t->block_tokens)
			t->block_tokens = row->block_tokens;
		return 0;
	}
	sizes = arrivals_sizes(row->context, count);
	for (unsigned k = 0; a->votes && k < BLOCK_SIZES; k++)
		a->votes[k] += sizes >> k & 1;
	if (a->votes)
		return 0;
	if (!(t->block_sizes & sizes))
		return err_set(err, -EINVAL,
			       "has %" PRIu32 " blocks for %" PRIu64
			       " tokens, which does not fit %s",
			       count, row->context,
			       sizes ? "the lines before it" : "any number of tokens per block");
	t->block_sizes &= sizes;
	return 0;
}

/* Whether a row that is wrong is passed over. */
static bool arrivals_lenient(struct arrivals *a, int rc, const struct err *err)
{
	if (!a->window.lenient || (rc != -EINVAL && rc != -EMSGSIZE && rc != -EBADMSG))
		return false;
	if (a->counting && !a->totals.wrong++)
		snprintf(a->totals.first_wrong, sizeof(a->totals.first_wrong), "%.*s",
			 (int)sizeof(a->totals.first_wrong) - 1, err->text);
	return true;
}

static int arrivals_line_next(struct arrivals *a, struct arrivals_line *row, struct err *err)
{
	size_t length;
	char *line;
	int rc;

	*row = (struct arrivals_line){.ns = 0};
	a->ids.count = 0;
	rc = a->format == ARRIVALS_FRAMES
		     ? arrivals_frames_next(&a->frames, a->lines, row, &a->ids, err)
		     : arrivals_take(a, &line, &length, err);
	if (rc > 0 && a->format != ARRIVALS_FRAMES)
		rc = (a->format == ARRIVALS_REQUESTS
			      ? arrivals_json_parse(line, length, row, &a->ids, err)
			      : arrivals_table_row(a, line, length, row, err)) < 0
			     ? -EINVAL
			     : 1;
	if (rc > 0 && a->started && row->ns < a->last_ns)
		rc = err_set(err, -EINVAL, "is earlier than the row before it");
	if (rc > 0 && row->blocks && arrivals_fit(a, row, err) < 0)
		rc = -EINVAL;
	return rc < 0 ? arrivals_wrap(a, rc, err) : rc;
}

static int arrivals_line(struct arrivals *a, uint64_t *ns, struct arrival *out, struct err *err)
{
	struct arrivals_line row;
	int rc;

	do {
		rc = arrivals_line_next(a, &row, err);
		if (rc < 0 && !arrivals_lenient(a, rc, err))
			return rc;
	} while (rc < 0 && rc != -EBADMSG);
	/* Nothing follows what is cut. */
	if (rc <= 0)
		return 0;
	*ns = row.ns;
	*out = (struct arrival){
		.context = row.context, .generate = row.generate, .session = row.session};
	for (uint32_t i = 0; a->counting && i < a->ids.count; i++)
		if (arrivals_blocks_add(&a->totals.blocks, a->ids.id[i], err) < 0)
			return -ENOMEM;
	return 1;
}

/* Times so late that nothing waits for them are all the same. */
static uint64_t arrivals_ns(double ns)
{
	return ns < (double)NS_MAX ? (uint64_t)ns : NS_MAX;
}

/* Turns arrive one after the other, as fast as the rate says. */
static int arrivals_turn(struct arrivals *a, uint64_t *ns, struct arrival *out, struct err *err)
{
	uint64_t most = a->window.conversations_max;
	struct sharegpt_turn turn;
	int rc;

	do
		rc = sharegpt_next(&a->list, &turn, err);
	while (rc < 0 && arrivals_lenient(a, rc, err));
	if (rc <= 0 || (most && turn.conversation >= most))
		return rc < 0 ? rc : 0;
	*ns = arrivals_ns((double)a->rows * (double)NS_PER_S / a->window.rate);
	*out = (struct arrival){.context = turn.context,
				.generate = turn.generate,
				.conversation = turn.conversation,
				.turn = turn.turn};
	return 1;
}

/* The next row, whichever part it is of. Returns 1, or 0 at the end. */
static int arrivals_row(struct arrivals *a, uint64_t *ns, struct arrival *out, struct err *err)
{
	int rc = a->format == ARRIVALS_TURNS ? arrivals_turn(a, ns, out, err)
					     : arrivals_line(a, ns, out, err);

	if (rc <= 0)
		return rc;
	if (!a->started)
		a->first_ns = *ns;
	a->started = true;
	a->last_ns = *ns;
	out->number = a->rows++;
	return 1;
}

static void arrivals_close_text(struct arrivals *a);

/* Goes to the beginning of the text. */
static int arrivals_reopen(struct arrivals *a, struct err *err)
{
	int rc;

	arrivals_close_text(a);
	rc = a->path[0] ? line_reader_open(&a->lines, a->path, err)
			: line_reader_open_memory(&a->lines, a->data, a->bytes, err);
	if (rc == 0)
		sharegpt_open(&a->list, a->lines, a->window.characters);
	return rc;
}

/* At the end of the text: begins the next cycle. Returns 1, or 0 where there is none. A part that
 * has had no row in a whole cycle will never have one. */
static int arrivals_cycle(struct arrivals *a, struct err *err)
{
	int rc;

	if (a->cycle >= a->window.again || !a->taken)
		return 0;
	a->cycle++;
	a->taken = false;
	a->rows = 0;
	a->started = false;
	rc = arrivals_reopen(a, err);
	if (rc == 0 && a->format == ARRIVALS_TABLE)
		rc = arrivals_header(a, err);
	return rc < 0 ? rc : 1;
}

/* Whether a row becomes a request of any part. A context of 0 tokens has nothing to cache. */
static bool arrivals_in_window(const struct arrivals *a, uint64_t ns, const struct arrival *row)
{
	const struct arrivals_window *w = &a->window;
	uint64_t at_ns = ns - a->first_ns;

	return row->context && at_ns >= w->from_ns &&
	       (!w->length_ns || at_ns - w->from_ns < w->length_ns);
}

/* Whether a row and all rows after it come behind the window. */
static bool arrivals_behind(const struct arrivals *a, uint64_t ns)
{
	const struct arrivals_window *w = &a->window;
	uint64_t at_ns = ns - a->first_ns;

	return w->length_ns && at_ns >= w->from_ns && at_ns - w->from_ns >= w->length_ns;
}

/* Longer contexts and answers are cut. */
static void arrivals_cut(const struct arrivals_window *w, struct arrival *row)
{
	row->cut = excess_u64(row->context, w->context_max);
	row->cut_generate = w->generate_max ? excess_u64(row->generate, w->generate_max) : 0;
	row->context -= row->cut;
	row->generate -= row->cut_generate;
}

/* A row of the text becomes a request of this cycle. */
static void arrivals_accept(struct arrivals *a, uint64_t ns)
{
	const struct arrivals_window *w = &a->window;
	struct arrival *row = &a->next;
	double since_ns = (double)(ns - a->first_ns - w->from_ns);

	a->taken = true;
	row->due_ns = arrivals_ns((since_ns + (double)a->cycle * (double)a->cycle_ns) / w->speed);
	row->number += a->cycle * a->cycle_rows;
	row->conversation += a->cycle * a->cycle_conversations;
	if (row->session)
		row->session += a->cycle << 1;
	arrivals_cut(w, row);
}

/* Fills in the next row of this part. */
static int arrivals_advance(struct arrivals *a, struct err *err)
{
	uint64_t ns;
	int rc;

	do {
		while ((rc = arrivals_row(a, &ns, &a->next, err)) > 0 && !arrivals_behind(a, ns)) {
			uint64_t number = a->next.turn      ? a->next.conversation
					  : a->next.session ? a->next.session >> 1
							    : a->next.number;

			if (!arrivals_in_window(a, ns, &a->next) ||
			    number % a->window.parts != a->window.part)
				continue;
			arrivals_accept(a, ns);
			return 0;
		}
		if (rc >= 0)
			rc = arrivals_cycle(a, err);
	} while (rc > 0);
	a->next.due_ns = ARRIVALS_NEVER;
	return rc;
}

/* What a whole cycle has: found requests, from the first to the last. */
static int arrivals_measure(struct arrivals *a, uint64_t found, uint64_t from_ns, uint64_t to_ns,
			    struct err *err)
{
	uint64_t span_ns = to_ns - from_ns;

	a->cycle_rows = a->rows;
	a->cycle_ns = span_ns;
	if (a->format == ARRIVALS_TURNS)
		a->cycle_ns += arrivals_ns((double)NS_PER_S / a->window.rate);
	else if (found > 1)
		a->cycle_ns += span_ns / (found - 1);
	if (a->window.again && !a->cycle_ns)
		return err_set(
			err, -EINVAL,
			"has all of its requests at the same time, so it cannot begin again");
	return 0;
}

/* Where wrong lines are passed over, the blocks have the size that fits most lines, since the first
 * one may be wrong. */
static int arrivals_vote(struct arrivals *a, struct err *err)
{
	uint64_t votes[BLOCK_SIZES + 1] = {0}, ns, most = 0;
	struct arrival row;
	int rc = 1;

	a->totals.block_sizes = BLOCK_SIZES_ALL;
	if (!a->window.lenient || a->format != ARRIVALS_REQUESTS)
		return 0;
	a->votes = votes;
	while (rc > 0)
		rc = arrivals_line(a, &ns, &row, err);
	a->votes = NULL;
	for (unsigned k = 0; k < BLOCK_SIZES; k++)
		most = max_u64(most, votes[k]);
	if (rc < 0 || votes[BLOCK_SIZES] > most)
		return rc;
	a->totals.block_tokens = 0;
	for (unsigned k = 0; k < BLOCK_SIZES; k++)
		if (votes[k] < most)
			a->totals.block_sizes &= ~(1u << k);
	return 0;
}

/* Reads all rows, to find what is wrong. */
static int arrivals_check(struct arrivals *a, struct err *err)
{
	uint64_t ns, found = 0, from_ns = 0, to_ns = 0;
	struct arrival row;
	int rc = a->format == ARRIVALS_TABLE ? arrivals_header(a, err) : 0;

	a->counting = true;
	while (rc == 0 && (rc = arrivals_row(a, &ns, &row, err)) > 0) {
		rc = 0;
		a->totals.rows++;
		a->totals.context += row.context;
		a->totals.generate += row.generate;
		a->totals.in_sessions += row.session > 0;
		a->totals.last_ns = ns - a->first_ns;
		arrivals_cut(&a->window, &row);
		a->totals.empty += !row.context;
		a->totals.cut_rows += row.cut || row.cut_generate;
		a->totals.cut += row.cut;
		a->totals.cut_generate += row.cut_generate;
		if (row.turn)
			a->cycle_conversations = row.conversation + 1;
		if (!arrivals_in_window(a, ns, &row))
			continue;
		from_ns = found++ ? from_ns : ns;
		to_ns = ns;
	}
	if (rc == 0 && !found)
		rc = err_set(err, -EINVAL, "has no request %s",
			     a->rows ? "in this part of its time" : "at all");
	a->counting = false;
	return rc == 0 ? arrivals_measure(a, found, from_ns, to_ns, err) : rc;
}

/* From the beginning. */
static int arrivals_begin(struct arrivals *a, struct err *err)
{
	int rc = a->format == ARRIVALS_TABLE ? arrivals_header(a, err) : 0;

	a->rows = 0;
	a->started = false;
	return rc < 0 ? rc : arrivals_advance(a, err);
}

/* A text that begins with an object: requests, or conversations, in a line each. */
static int arrivals_look_object(struct arrivals *a, struct err *err)
{
	bool turns = true;
	size_t length = 0;
	char *line = NULL;
	int rc = arrivals_reopen(a, err);

	if (rc == 0)
		rc = arrivals_take(a, &line, &length, err);
	/* A conversation may be longer than a line. */
	if (rc > 0)
		rc = arrivals_json_look(line, length, &turns, err);
	a->format = turns ? ARRIVALS_TURNS : ARRIVALS_REQUESTS;
	return rc < 0 && rc != -EMSGSIZE ? arrivals_wrap(a, rc, err) : 0;
}

/* What the text is. Only then its options are judged: whether it has times of its own, and takes no
 * rate. */
static int arrivals_look(struct arrivals *a, struct err *err)
{
	const char *piece;
	size_t bytes = 0;
	int rc = line_reader_piece(a->lines, &piece, &bytes, err);
	char first = rc > 0 ? sharegpt_begins(piece, bytes) : '\0';

	if (rc < 0)
		return rc;
	if (rc > 0 && arrivals_frames_begin(piece, bytes))
		first = ARRIVALS_BINARY;
	if (!first)
		return err_set(err, -EINVAL, "is empty");
	a->format = first == ARRIVALS_BINARY ? ARRIVALS_FRAMES
		    : first == '['           ? ARRIVALS_TURNS
					     : ARRIVALS_TABLE;
	if (first == '{')
		rc = arrivals_look_object(a, err);
	else if (a->format == ARRIVALS_TABLE && (rc = arrivals_reopen(a, err)) == 0)
		rc = arrivals_header(a, err);
	if (rc < 0)
		return rc;
	if (a->format == ARRIVALS_TURNS && a->window.rate < rate_least)
		return err_set(err, -EINVAL,
			       "is a list of conversations, which has no times: it needs a rate of "
			       "at least %g per second",
			       rate_least);
	if (a->format != ARRIVALS_TURNS && a->window.rate > 0)
		return err_set(err, -EINVAL, "is a %s, which has its own times; remove \"rate\"",
			       a->format == ARRIVALS_TABLE ? "table of requests"
							   : "trace of requests as lines of JSON");
	return 0;
}

/* Looks at the text, checks it, and begins to read it, each time from its beginning. */
int arrivals_open(struct arrivals *a, const char *path, const void *data, size_t bytes,
		  const struct arrivals_window *window, struct err *err)
{
	static int (*const passes[])(struct arrivals * a, struct err * err) = {
		arrivals_look, arrivals_vote, arrivals_check, arrivals_begin};
	int rc = 0;

	*a = (struct arrivals){.window = *window,
			       .next = {.due_ns = ARRIVALS_NEVER},
			       .data = data,
			       .bytes = bytes};
	if (path && (size_t)snprintf(a->path, sizeof(a->path), "%s", path) >= sizeof(a->path))
		return err_set(err, -ENAMETOOLONG, "the path is longer than %d bytes",
			       ARRIVALS_PATH_BYTES - 1);
	for (size_t i = 0; rc == 0 && i < COUNT(passes); i++) {
		rc = arrivals_reopen(a, err);
		if (rc == 0)
			rc = passes[i](a, err);
	}
	if (rc < 0)
		arrivals_close(a);
	return rc;
}

void arrivals_text(const struct arrivals *a, char out[ARRIVALS_TEXTS][ARRIVALS_TEXT_BYTES])
{
	const struct arrivals_totals *t = &a->totals;
	char count[UNITS_COUNTED_BYTES];

	snprintf(out[0], ARRIVALS_TEXT_BYTES,
		 "%" PRIu64 " requests in %.3f s, %" PRIu64 " tokens of context, %" PRIu64
		 " generated",
		 t->rows, (double)t->last_ns / (double)NS_PER_S, t->context, t->generate);
	for (int i = 1; i < ARRIVALS_TEXTS; i++)
		out[i][0] = '\0';
	if (t->in_sessions)
		snprintf(out[1], ARRIVALS_TEXT_BYTES,
			 "%s of sessions, which the profile \"serving\" goes on with",
			 units_counted(count, t->in_sessions, "request"));
	if (t->cut_rows)
		snprintf(out[2], ARRIVALS_TEXT_BYTES,
			 "%s %s cut (arrivals.context_max, generate_max): %" PRIu64
			 " tokens of context and %" PRIu64 " of answers are left out",
			 units_counted(count, t->cut_rows, "request"),
			 t->cut_rows == 1 ? "is" : "are", t->cut, t->cut_generate);
	if (t->empty)
		snprintf(out[3], ARRIVALS_TEXT_BYTES, "%s without tokens of context %s left out",
			 units_counted(count, t->empty, "request"), t->empty == 1 ? "is" : "are");
	if (t->wrong)
		snprintf(out[4], ARRIVALS_TEXT_BYTES,
			 "%" PRIu64
			 " rows are wrong and left out (arrivals.lenient), the first: %s",
			 t->wrong, t->first_wrong);
	if (t->blocks.references)
		snprintf(out[1], ARRIVALS_TEXT_BYTES,
			 "%" PRIu64 " blocks, %" PRIu64
			 " of them different; they are not used, each request is new",
			 t->blocks.references, t->blocks.distinct);
}

/* Of the text that is being read. */
static void arrivals_close_text(struct arrivals *a)
{
	sharegpt_close(&a->list);
	arrivals_frames_close(&a->frames);
	line_reader_close(a->lines);
	a->lines = NULL;
}

void arrivals_close(struct arrivals *a)
{
	arrivals_close_text(a);
	arrivals_blocks_free(&a->totals.blocks);
	free(a->ids.id);
	free(a->taken_ids.id);
	a->ids = a->taken_ids = (struct arrivals_ids){.count = 0};
}

uint64_t arrivals_block_tokens(const struct arrivals *a)
{
	/* A trace whose contexts are all short fits several. 512 is Mooncake's and 16 Qwen's. */
	uint32_t sizes = a->totals.block_sizes;

	if (a->totals.block_tokens || !a->totals.blocks.references)
		return a->totals.block_tokens;
	if (sizes >> 9 & 1)
		return 512;
	return sizes ? UINT64_C(1) << (31 - __builtin_clz(sizes)) : 0;
}

uint64_t arrivals_due(const struct arrivals *a)
{
	return a->next.due_ns;
}

void arrivals_next(struct arrivals *a, struct arrival *out)
{
	struct arrivals_ids free = a->taken_ids;

	*out = a->next;
	a->taken_ids = a->ids;
	a->ids = free;
	a->rc = arrivals_advance(a, &a->err);
}
