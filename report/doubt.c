/* SPDX-License-Identifier: Apache-2.0 */
/* Doubts about the figures of a phase: see doubt.h. */
#include "report/doubt.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/units.h"
#include "report/accounts.h"
#include "report/client_side.h"
#include "report/phase.h"
#include "report/say.h"
#include "report/verdict.h"

const struct doubt_kind doubt_kinds[DOUBTS] = {
#define DOUBT_KIND(id, name, voids, remedy) [DOUBT_##id] = {name, voids, remedy},
	DOUBT_LIST(DOUBT_KIND)
#undef DOUBT_KIND
};

/* More of the bytes than this from a cache are a doubt; so are more requests that did not end; a
 * phase of which less than this was measured; one that was shorter; a percentile of fewer requests;
 * an endpoint of whose attempts at least this share failed. */
static const double cached_most = 0.1, left_most = 0.1, measured_least = 0.5, short_s = 1,
		    endpoint_failures = 0.2;
enum { REQUESTS_LEAST = 100, ENDPOINT_ATTEMPTS_LEAST = 3 };

static void doubt_raise(struct doubts *d, enum doubt doubt, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void doubt_raise(struct doubts *d, enum doubt doubt, const char *format, ...)
{
	va_list arguments;

	if (d->raised[doubt])
		return;
	d->raised[doubt] = true;
	d->count++;
	va_start(arguments, format);
	vsnprintf(d->why[doubt], sizeof(d->why[doubt]), format, arguments);
	va_end(arguments);
}

static void doubt_ended(struct doubts *d, const struct results_phase_read *p)
{
	const char *status = p->record.status;

	if (results_ended_well(status))
		return;
	doubt_raise(d, DOUBT_ENDED, "the phase %s",
		    strcmp(status, "running") == 0       ? "was still running"
		    : strcmp(status, "interrupted") == 0 ? "was interrupted"
							 : "failed");
}

static const struct store_facts *doubt_store(const struct results_file *f,
					     const struct results_phase_read *p)
{
	for (uint64_t i = 0; f->stores && i < f->store_count; i++)
		if (strcmp(f->stores[i].name, p->record.store) == 0)
			return &f->stores[i];
	return NULL;
}

static void doubt_cache(struct doubts *d, const struct results_file *f,
			const struct results_phase_read *p)
{
	const struct store_facts *store = doubt_store(f, p);
	double cached = results_role_value(&p->merged, 0, ROLE_CACHED);
	bool file = store && strncmp(store->uri, "file:", 5) == 0;

	if (store && store->degraded[0])
		doubt_raise(d, DOUBT_DEGRADED, "store %s is degraded: %s", store->name,
			    store->degraded);
	if (cached >= cached_most)
		doubt_raise(d, DOUBT_CACHE,
			    "%.*f %% of the bytes came from this client's page cache",
			    cached < 1 && cached > 0.99 ? 1 : 0, cached * 100);
	if (store &&
	    (strcmp(store->file_system, "tmpfs") == 0 || strcmp(store->file_system, "ramfs") == 0))
		doubt_raise(d, DOUBT_MEMORY, "store %s is in this node's memory (%s)", store->name,
			    store->file_system);
	else if (store && strncmp(store->uri, "mem:", 4) == 0)
		doubt_raise(d, DOUBT_MEMORY, "store %s is in haul's own memory (mem://)",
			    store->name);
	else if (file && !f->simulated && !store->direct && isnan(cached) &&
		 phase_common(p, TALLY_BYTES_READ) > 0)
		doubt_raise(d, DOUBT_CACHE_UNKNOWN,
			    "how much of the bytes came from the page cache is not known");
}

/* What was never written comes from no storage. */
static void doubt_holes(struct doubts *d, const struct results_phase_read *p)
{
	char bytes[UNITS_TEXT_BYTES];

	if (p->record.hole_bytes)
		doubt_raise(d, DOUBT_HOLES, "%s of its files were never written: holes",
			    units_bytes_decimal(bytes, (double)p->record.hole_bytes));
}

static void doubt_client(struct doubts *d, const struct results_file *f,
			 const struct results_phase_read *p)
{
	static const char *const limits[] = {[CLIENT_LIMIT_CPU] = "its cores",
					     [CLIENT_LIMIT_NIC] = "its network",
					     [CLIENT_LIMIT_RDMA] = "its RDMA ports",
					     [CLIENT_LIMIT_MEMORY] = "its memory"};
	struct client_side c;

	if (p->record.seconds < client_shortest_s || !client_side_of(f, p, &c))
		return;
	if (c.limit != CLIENT_LIMIT_NONE)
		doubt_raise(d, DOUBT_CLIENT, "the client was the limit (%s)", limits[c.limit]);
	else if (c.message_count)
		doubt_raise(d, DOUBT_NODE, "%s", c.message[0]);
	client_side_free(&c);
}

/* An endpoint that nobody asked, while the others had attempts enough for all of them: it had failed
 * before, and was left out. */
static void doubt_unasked(struct doubts *d, const struct results_rows *rows)
{
	uint64_t count = rows && rows->names ? rows->table.row_count : 0, first = count,
		 unasked = 0;
	double attempts = 0;

	for (uint64_t i = 0; i < count; i++) {
		double own = results_value(&rows->table, i, "attempts");

		attempts += own > 0 ? own : 0;
		if (own > 0)
			continue;
		unasked++;
		first = first == count ? i : first;
	}
	if (!unasked || unasked == count || attempts < (double)(ENDPOINT_ATTEMPTS_LEAST * count))
		return;
	doubt_raise(d, DOUBT_ENDPOINT,
		    "endpoint %.100s was not asked at all, while the others had %.0f attempts",
		    rows->names[first], attempts);
	if (unasked > 1)
		say(d->why[DOUBT_ENDPOINT], DOUBT_BYTES, ", and %llu more were not",
		    (unsigned long long)unasked - 1);
}

static void doubt_endpoint(struct doubts *d, const struct results_phase_read *p)
{
	const struct results_rows *rows = results_find_table(p, "endpoints");
	uint64_t worst = 0, more = 0;
	double most = 0;

	for (uint64_t i = 0; rows && rows->names && i < rows->table.row_count; i++) {
		double attempts = results_value(&rows->table, i, "attempts");
		double share = results_value(&rows->table, i, "failures") / attempts;

		/* All of the attempts failed, however few they are. */
		if (!(share >= endpoint_failures) ||
		    (attempts < ENDPOINT_ATTEMPTS_LEAST && share < 1))
			continue;
		more++;
		if (share > most) {
			most = share;
			worst = i;
		}
	}
	if (!more) {
		doubt_unasked(d, rows);
		return;
	}
	doubt_raise(d, DOUBT_ENDPOINT, "endpoint %.100s failed %.0f of %.0f attempts",
		    rows->names[worst], results_value(&rows->table, worst, "failures"),
		    results_value(&rows->table, worst, "attempts"));
	if (more > 1)
		say(d->why[DOUBT_ENDPOINT], DOUBT_BYTES, ", and %llu more failed as often",
		    (unsigned long long)more - 1);
}

static void doubt_requests(struct doubts *d, const struct results_phase_read *p)
{
	double errors = phase_common(p, TALLY_ERRORS);
	double left = results_role_value(&p->merged, 0, ROLE_ITEMS_LEFT);
	double served = results_role_value(&p->merged, 0, ROLE_ITEMS);
	double lost = results_value(&p->merged, 0, "start_up_lost");
	char count[UNITS_COUNTED_BYTES], some[UNITS_TEXT_BYTES], all[UNITS_TEXT_BYTES];

	if (errors > 0)
		doubt_raise(d, DOUBT_ERRORS, "%s failed",
			    units_counted(count, (uint64_t)errors, "request"));
	if (lost > 0)
		doubt_raise(d, DOUBT_LOST, "%s lost: not found by a server that started anew",
			    units_counted(count, (uint64_t)lost, "block"));
	if (left > left_most * (left + served))
		doubt_raise(d, DOUBT_UNFINISHED, "%s of %s %.40s were not finished",
			    units_count(some, (uint64_t)left),
			    units_count(all, (uint64_t)(left + served)), phase_items(p));
}

/* Where AU is known, the part of the time that it counts; other phases have their time. */
static void doubt_time(struct doubts *d, const struct results_phase_read *p)
{
	double measured = results_role_value(&p->merged, 0, ROLE_MEASURED_TIME);
	const struct time_parts parts = accounts_parts(p);
	double share = parts.measured / (parts.measured + parts.warmup);
	double seconds = results_measured_s(p);
	char text[UNITS_TEXT_BYTES];

	if (verdict_is(p) && measured == 0)
		doubt_raise(d, DOUBT_WARMUP, "no step came after the warm-up");
	else if (share < measured_least)
		doubt_raise(d, DOUBT_WARMUP,
			    "AU counts only %.0f %% of the phase%s, the rest is warm-up",
			    share * 100, parts.checkpoints > 0 ? " without its checkpoints" : "");
	else if (results_role(&p->merged, ROLE_OPERATION_RATE) >= 0 &&
		 !(results_role_value(&p->merged, 0, ROLE_OPERATION_RATE) > 0) &&
		 phase_common(p, TALLY_OPERATIONS) == 0 && phase_common(p, TALLY_ERRORS) == 0 &&
		 !(results_role_value(&p->merged, 0, ROLE_ITEMS) > 0))
		doubt_raise(d, DOUBT_WARMUP, "nothing was measured");
	if (!d->raised[DOUBT_WARMUP] && seconds < short_s)
		doubt_raise(d, DOUBT_SHORT, "only %s were measured", units_time(text, seconds));
}

/* A request may be several reads: then a target says which of both it is about. */
static void doubt_few(struct doubts *d, const struct results_phase_read *p)
{
	const struct results_hist *requests = results_role_hist(p, ROLE_REQUEST_LATENCY);
	const struct hist *reads = results_find_hist(p, p->record.main_hist);
	char count[UNITS_COUNTED_BYTES];

	for (uint32_t i = 0; i < p->target_count; i++) {
		bool whole = requests && strstr(p->targets[i].name, "request");
		const struct hist *h = whole ? &requests->hist : reads;

		if (strcmp(p->targets[i].unit, "ns") == 0 && h && hist_count(h) < REQUESTS_LEAST)
			doubt_raise(d, DOUBT_FEW, "its percentiles are of %s",
				    units_counted(count, hist_count(h),
						  requests && !whole ? "read" : "request"));
	}
}

static void doubt_machine(struct doubts *d, const struct results_phase_read *p)
{
	double starved = verdict_starved(p);

	if (!(starved > VERDICT_STARVED))
		return;
	if (starved < 1)
		doubt_raise(d, DOUBT_MACHINE,
			    "this machine was busy: haul's threads waited %.0f ms per second for a "
			    "core",
			    starved * 1000);
	else
		doubt_raise(d, DOUBT_MACHINE,
			    "this machine was busy: %.1f of the threads of each rank waited for a "
			    "core, on average",
			    starved);
}

static void doubt_targets(struct doubts *d, const struct results_phase_read *p)
{
	for (uint32_t i = 0; i < p->target_count; i++)
		if (isnan(p->targets[i].found))
			doubt_raise(d, DOUBT_UNKNOWN, "%.60s is unknown, since %.150s",
				    p->targets[i].label, doubt_unknown(d));
}

const char *doubt_unknown(const struct doubts *d)
{
	return d->raised[DOUBT_WARMUP]  ? d->why[DOUBT_WARMUP]
	       : d->raised[DOUBT_ENDED] ? d->why[DOUBT_ENDED]
					: "the phase did nothing that has this figure";
}

static void doubts_add(struct doubts *d, const struct results_file *f,
		       const struct results_phase_read *p)
{
	if (p->gone)
		doubt_raise(
			d, DOUBT_DETAILS,
			"details of the runs are missing: their side files are not beside this file");
	else
		doubt_ended(d, p);
	doubt_cache(d, f, p);
	doubt_holes(d, p);
	doubt_client(d, f, p);
	doubt_endpoint(d, p);
	doubt_requests(d, p);
	doubt_time(d, p);
	doubt_few(d, p);
	doubt_machine(d, p);
	doubt_targets(d, p);
}

void doubts_of(struct doubts *d, const struct results_file *f, const struct results_phase_read *p)
{
	memset(d, 0, sizeof(*d));
	doubts_add(d, f, p);
	if (f->runs <= 1)
		doubt_raise(d, DOUBT_REPEATS, "one run has no interval");
}

void doubts_of_line(struct doubts *d, const struct results_file *f, const struct series_line *line)
{
	memset(d, 0, sizeof(*d));
	for (uint32_t i = 0; i < line->repeats; i++)
		doubts_add(d, f, line->phases[i]);
	if (line->repeats == 1)
		doubt_raise(d, DOUBT_REPEATS, "one run has no interval");
	else if (line->repeats < DOUBT_REPEATS_LEAST)
		doubt_raise(d, DOUBT_REPEATS, "%u repeats have no interval that tells much",
			    line->repeats);
}

void doubts_drop(struct doubts *d, enum doubt doubt)
{
	d->count -= d->raised[doubt];
	d->raised[doubt] = false;
}

void doubt_sentence(char sentence[DOUBT_SENTENCE_BYTES], const struct doubts *d, enum doubt doubt)
{
	const char *why = d->why[doubt];
	size_t n = strlen(why);

	/* What is a sentence of its own ends with its point. */
	if (n && why[n - 1] == '.')
		snprintf(sentence, DOUBT_SENTENCE_BYTES, "%s", why);
	else
		snprintf(sentence, DOUBT_SENTENCE_BYTES, "%s; %s.", why, doubt_kinds[doubt].remedy);
}

enum { DOUBTS_SAID = 3 };

static bool doubt_is_said(const struct doubts *d, enum doubt doubt, bool quiet)
{
	return d->raised[doubt] && doubt != DOUBT_UNKNOWN && doubt != DOUBT_NODE &&
	       !(quiet && doubt == DOUBT_REPEATS);
}

bool doubts_void(const struct doubts *d)
{
	bool voids = false;

	for (int i = 0; i < DOUBTS; i++)
		voids |= d->raised[i] && doubt_kinds[i].voids;
	return voids;
}

void doubts_judge(struct results_file *f)
{
	struct doubts d;

	for (uint32_t i = 0; i < f->phase_count; i++) {
		const struct results_phase_read *p = &f->phases[i];

		if (!p->target_count)
			continue;
		doubts_of(&d, f, p);
		for (uint32_t k = 0; doubts_void(&d) && k < p->target_count; k++) {
			p->targets[k].voided = 1;
			p->targets[k].met = 0;
		}
	}
}

void doubts_but(char *sentence, size_t size, const struct doubts *d, bool claims)
{
	if (!claims || !doubts_void(d))
		return;
	sentence[strlen(sentence) - 1] = '\0';
	doubts_say(sentence, size, d, true);
	say(sentence, size, ".");
}

void doubts_say(char *text, size_t size, const struct doubts *d, bool quiet)
{
	bool voids = doubts_void(d);
	unsigned told = 0, more = 0;

	for (int i = 0; i < DOUBTS; i++) {
		/* What makes the figures void is not mixed with what makes them less sure. */
		if (!doubt_is_said(d, (enum doubt)i, quiet) || (voids && !doubt_kinds[i].voids))
			continue;
		if (told == DOUBTS_SAID) {
			more++;
			continue;
		}
		say(text, size, "%s%s",
		    told++  ? ", and "
		    : voids ? ", but that does not count: "
			    : ", with a doubt: ",
		    d->why[i]);
	}
	if (more)
		say(text, size, ", and for %u more reason%s", more, more == 1 ? "" : "s");
}

struct doubt_row {
	const char *side, *phase, *doubt, *why, *sentence;
	bool voids;
};

static const struct column doubt_columns[] = {FIELD(TEXT, struct doubt_row, side),
					      FIELD(TEXT, struct doubt_row, phase),
					      FIELD(TEXT, struct doubt_row, doubt),
					      FIELD(FLAG, struct doubt_row, voids),
					      FIELD(TEXT, struct doubt_row, why),
					      FIELD(TEXT, struct doubt_row, sentence),
					      COLUMNS_END};

void doubts_write(struct document *d, const struct doubts *doubts, const char *side,
		  const char *phase)
{
	char sentence[DOUBT_SENTENCE_BYTES], line[2 * DOUBT_SENTENCE_BYTES];

	for (int i = 0; i < DOUBTS; i++) {
		const struct doubt_row row = {side,           phase,    doubt_kinds[i].name,
					      doubts->why[i], sentence, doubt_kinds[i].voids};

		if (!doubts->raised[i])
			continue;
		doubt_sentence(sentence, doubts, (enum doubt)i);
		snprintf(line, sizeof(line), "doubt about %.200s%s%.60s: %s", side,
			 *side && *phase ? ", " : "", phase, sentence);
		document_open_row(d, doubt_columns, &row);
		document_wrap(d, 2, line);
		document_close(d);
	}
}
