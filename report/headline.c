/* SPDX-License-Identifier: Apache-2.0 */
/* First sentence about a results file: see headline.h. */
#include "report/headline.h"

#include <math.h>
#include <string.h>

#include "core/measure/quantile.h"
#include "core/stats.h"
#include "core/units.h"
#include "report/answer.h"
#include "report/cache.h"
#include "report/phase.h"
#include "report/say.h"
#include "report/verdict.h"

#define HEADLINE_SAY(h, ...) say((h)->text, HEADLINE_BYTES, __VA_ARGS__)

/* What makes a phase the one to talk about. */
enum { RANK_NO_TARGET, RANK_MET, RANK_UNKNOWN, RANK_MISSED };

static int headline_rank(const struct results_phase_read *p)
{
	int rank = RANK_NO_TARGET;

	for (uint32_t i = 0; i < p->target_count; i++) {
		enum target_state state = target_state(&p->targets[i]);
		int own = state == TARGET_MISSED    ? RANK_MISSED
			  : state == TARGET_UNKNOWN ? RANK_UNKNOWN
						    : RANK_MET;

		rank = own > rank ? own : rank;
	}
	return rank;
}

static double headline_bytes(const struct results_phase_read *p)
{
	double bytes = phase_bytes(p);

	return isnan(bytes) ? 0 : bytes;
}

/* A phase that makes what a later one of its run reads. */
static bool headline_makes(const struct results_file *f, uint32_t i)
{
	const struct results_phase_read *p = &f->phases[i];

	if (phase_common(p, TALLY_BYTES_READ) > 0 || !(phase_common(p, TALLY_BYTES_WRITTEN) > 0))
		return false;
	for (uint32_t k = i + 1; k < f->phase_count; k++)
		if (f->phases[k].record.run == p->record.run && !f->phases[k].record.alone &&
		    phase_common(&f->phases[k], TALLY_BYTES_READ) > 0)
			return true;
	return false;
}

/* Of equals, one that does not make data for others, or else that which moved more bytes, or else the
 * later. Of a series, the first finished run of a phase stands for all. */
static const struct results_phase_read *headline_phase(const struct results_file *f)
{
	const struct results_phase_read *best = NULL;
	bool best_makes = false;

	for (uint32_t i = 0; i < f->phase_count; i++) {
		const struct results_phase_read *p = &f->phases[i];
		int rank = headline_rank(p), best_rank = best ? headline_rank(best) : -1;
		bool makes = headline_makes(f, i), better;

		if (p->record.warmup || p->record.alone)
			continue;
		better = makes != best_makes ? best_makes
					     : best && headline_bytes(p) >= headline_bytes(best);
		if (!best || rank > best_rank || (rank == best_rank && better)) {
			best = p;
			best_makes = makes;
		}
	}
	return best;
}

static unsigned headline_trainings(const struct results_file *f)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < f->phase_count; i++)
		n += verdict_is(&f->phases[i]) && !f->phases[i].record.alone &&
		     f->phases[i].record.run == f->phases[0].record.run;
	return n;
}

static void headline_quantiles(struct headline *h, const struct results_phase_read *p)
{
	const struct results_hist *requests = results_role_hist(p, ROLE_REQUEST_LATENCY);
	char half[UNITS_TEXT_BYTES], most[UNITS_TEXT_BYTES];

	if (!requests)
		return;
	HEADLINE_SAY(h, ", half of them within %s and 95 %% within %s",
		     units_time(half, (double)quantile_ns(&requests->hist, QUANTILE_P50) / 1e9),
		     units_time(most, (double)quantile_ns(&requests->hist, QUANTILE_P95) / 1e9));
}

/* The answer of autoscaling. */
static void headline_carried(struct headline *h, const struct results_phase_read *p)
{
	double users = results_role_value(&p->merged, 0, ROLE_USERS_CARRIED);
	char count[UNITS_TEXT_BYTES];

	if (users > 0)
		HEADLINE_SAY(h, "; it carries %s users", units_count(count, (uint64_t)users));
}

/* "wrote 1.2 GB/s and read 2.1 GB/s": of phases that do one after the other. */
static bool headline_both_ways(struct headline *h, const struct results_phase_read *p)
{
	double wrote = results_role_value(&p->merged, 0, ROLE_WRITE_RATE),
	       read = results_role_value(&p->merged, 0, ROLE_READ_RATE);
	char a[UNITS_TEXT_BYTES], b[UNITS_TEXT_BYTES];

	if (results_role(&p->merged, ROLE_BYTE_RATE_SLOWEST) < 0 || !(wrote > 0 || read > 0))
		return false;
	if (wrote > 0)
		HEADLINE_SAY(h, "wrote %s", units_rate(a, wrote));
	if (read > 0)
		HEADLINE_SAY(h, "%sread %s", wrote > 0 ? " and " : "", units_rate(b, read));
	return true;
}

/* "; of 100 blocks of prompts, 68 were found (of system prompts 99, of conversations 41), which saved 60 %
 * of the time of computing all". */
static void headline_found(struct headline *h, const struct results_phase_read *p)
{
	const struct results_table *t = &p->merged;
	double found = 100 * results_value(t, 0, "hit_rate"),
	       prompts = 100 * results_value(t, 0, "hit_rate_prompt"),
	       turns = 100 * results_value(t, 0, "hit_rate_turn"),
	       saved = 100 * results_value(t, 0, "saved_share");

	if (!isfinite(found))
		return;
	HEADLINE_SAY(h, "; of 100 blocks of prompts, %.0f were found", found);
	if (isfinite(prompts) && isfinite(turns))
		HEADLINE_SAY(h, " (of system prompts %.0f, of conversations %.0f)", prompts, turns);
	if (!isfinite(saved))
		return;
	if (saved >= 0)
		HEADLINE_SAY(h, ", which saved %.0f %% of the time of computing all", saved);
	else
		HEADLINE_SAY(h, ", but first tokens had come earlier if all had been computed");
}

/* "50 users have 95 of 100 first tokens within 742 ms". Requests without a first token are told where
 * they are so many that this does not hold of all. */
static bool headline_first_tokens(struct headline *h, const struct results_phase_read *p)
{
	const struct hist *ttft = results_find_hist(p, "ttft");
	double users = results_value(&p->merged, 0, "users"),
	       offered = results_value(&p->merged, 0, "offered"), got;
	char number[UNITS_TEXT_BYTES], half[UNITS_TEXT_BYTES], most[UNITS_TEXT_BYTES];

	if (!cache_serves(p) || !ttft)
		return false;
	if (users > 0)
		HEADLINE_SAY(h, "%s user%s", units_count(number, (uint64_t)users),
			     users > 1 ? "s have" : " has");
	else
		HEADLINE_SAY(h, "%.3g requests per second have",
			     results_value(&p->merged, 0, "offered_rate"));
	HEADLINE_SAY(h, " 95 of 100 first tokens within %s, and half of them within %s",
		     units_time(most, (double)quantile_ns(ttft, QUANTILE_P95) / 1e9),
		     units_time(half, (double)quantile_ns(ttft, QUANTILE_P50) / 1e9));
	got = (double)hist_count(ttft);
	if (got < 0.95 * offered)
		HEADLINE_SAY(h, "; %s of %s requests had none at the end",
			     units_count(half, (uint64_t)(offered - got)),
			     units_count(number, (uint64_t)offered));
	headline_found(h, p);
	return true;
}

/* What a phase without accelerators reached. */
static void headline_reached(struct headline *h, const struct results_phase_read *p)
{
	double bytes = series_figure_of(p, SERIES_BYTES), number;
	enum series_figure main = series_main(p);
	char text[TARGET_TEXT_BYTES], count[UNITS_TEXT_BYTES], time[UNITS_TEXT_BYTES];

	if (headline_first_tokens(h, p))
		return;
	if (results_role_hist(p, ROLE_REQUEST_LATENCY) && main == SERIES_SAMPLES) {
		HEADLINE_SAY(
			h, "served %s %s in %s",
			units_count(count, (uint64_t)results_role_value(&p->merged, 0, ROLE_ITEMS)),
			phase_items(p), units_time(time, p->record.seconds));
		headline_quantiles(h, p);
		headline_carried(h, p);
	} else if (headline_both_ways(h, p)) {
		return;
	} else if (main == SERIES_OPERATIONS || main == SERIES_SAMPLES) {
		number = series_figure_of(p, main);
		HEADLINE_SAY(h, "did %s %s per second",
			     number < 1000 ? target_value(text, "", number, 3)
					   : units_count(text, (uint64_t)llround(number)),
			     main == SERIES_OPERATIONS ? "operations" : phase_items(p));
		if (bytes > 0)
			HEADLINE_SAY(h, ", which is %s", units_rate(count, bytes));
	} else if (bytes > 0) {
		HEADLINE_SAY(h, "moved %s", units_rate(text, bytes));
	} else {
		HEADLINE_SAY(h, "has no figure");
	}
}

/* "AU 96.4 % (95.1 % to 97.2 %) on average over 5 repeats". */
static void headline_mean(struct headline *h, const struct series_line *line)
{
	enum series_figure figure = verdict_is(line->first) ? SERIES_AU : series_main(line->first);
	const struct stats *s;
	const char *unit = figure == SERIES_AU      ? "fraction"
			   : figure == SERIES_BYTES ? "B/s"
						    : "1/s";
	char text[TARGET_TEXT_BYTES];

	if (figure == SERIES_VALUES || !isfinite(line->figures[figure].mean)) {
		HEADLINE_SAY(h, "has no figure");
		return;
	}
	s = &line->figures[figure];
	HEADLINE_SAY(h, "%s%s", figure == SERIES_AU ? "AU " : "",
		     target_value(text, unit, s->mean, 3));
	if (figure == SERIES_OPERATIONS || figure == SERIES_SAMPLES)
		HEADLINE_SAY(h, " %s",
			     figure == SERIES_OPERATIONS ? "operations" : phase_items(line->first));
	if (line->repeats > 1 && isfinite(s->low)) {
		HEADLINE_SAY(h, " (%s to ", target_value(text, unit, s->low, 3));
		HEADLINE_SAY(h, "%s)", target_value(text, unit, s->high, 3));
	}
	if (line->repeats > 1)
		HEADLINE_SAY(h, " on average over %u repeats", line->repeats);
}

/* "; the target of 90 % is met" where what was found has just been told, else "; bandwidth 1.2 GB/s
 * misses the target of 2 GB/s". */
static void headline_target(struct headline *h, const struct target_result *t, bool told)
{
	char asked[TARGET_TEXT_BYTES], sentence[512];

	if (told) {
		HEADLINE_SAY(h, "; the target of %s ", target_value(asked, t->unit, t->asked, 6));
		h->word = strlen(h->text);
		h->word_bytes = strlen(target_word(t));
		h->good = target_state(t) == TARGET_MET;
		HEADLINE_SAY(h, "%s", target_word(t));
		return;
	}
	target_sentence(sentence, sizeof(sentence), t, "");
	HEADLINE_SAY(h, "; %s", sentence);
}

/* Targets of phases that the sentence is not about, by their state. */
static void headline_others(struct headline *h, const struct results_file *f,
			    const struct results_phase_read *about)
{
	unsigned states[TARGET_STATES] = {0}, all = 0;

	for (uint32_t i = 0; i < f->phase_count; i++) {
		const struct results_phase_read *p = &f->phases[i];

		for (uint32_t k = 0; p != about && !p->record.alone && k < p->target_count; k++) {
			states[target_state(&p->targets[k])]++;
			all++;
		}
	}
	if (states[TARGET_MISSED])
		HEADLINE_SAY(h, "; of %u more target%s %u %s missed", all, all == 1 ? "" : "s",
			     states[TARGET_MISSED], states[TARGET_MISSED] == 1 ? "is" : "are");
	else if (states[TARGET_UNKNOWN])
		HEADLINE_SAY(h, "; of %u more target%s %u cannot be told", all, all == 1 ? "" : "s",
			     states[TARGET_UNKNOWN]);
	else if (all)
		HEADLINE_SAY(h, "; %u more target%s met", all, all == 1 ? " is" : "s are");
}

static void headline_run(struct headline *h, const struct results_file *f,
			 const struct results_phase_read *p)
{
	double au = results_role_value(&p->merged, 0, ROLE_UTILISATION);
	char share[TARGET_TEXT_BYTES];

	doubts_of(&h->doubts, f, p);
	if (!isnan(au)) {
		if (headline_trainings(f) > 1)
			HEADLINE_SAY(h, "%s: ", p->record.name);
		verdict_busy_share(share, au, phase_target(p, "target_au"));
		HEADLINE_SAY(h, "The accelerators were busy %s of the time", share);
		verdict_without(h->text, HEADLINE_BYTES, p);
	} else if (verdict_is(p)) {
		HEADLINE_SAY(h, "%s: AU is unknown, since %s", p->record.name,
			     doubt_unknown(&h->doubts));
	} else {
		HEADLINE_SAY(h, "%s: ", p->record.name);
		headline_reached(h, p);
	}
	for (uint32_t i = 0; i < p->target_count; i++)
		headline_target(h, &p->targets[i], strcmp(p->targets[i].name, "target_au") == 0);
	headline_others(h, f, p);
	doubts_say(h->text, HEADLINE_BYTES, &h->doubts, true);
}

static const struct series_line *headline_line(const struct series_lines *s,
					       const struct results_phase_read *p)
{
	for (uint32_t i = 0; i < s->count; i++)
		for (uint32_t k = 0; k < s->lines[i].repeats; k++)
			if (s->lines[i].phases[k] == p)
				return &s->lines[i];
	return NULL;
}

/* The combination with the best mean, and how many there are. */
static const struct series_line *headline_best(const struct series_lines *s,
					       const struct series_line *of, unsigned *count)
{
	const struct series_line *best = NULL;

	*count = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		if (!series_same_phase(&s->lines[i], of))
			continue;
		++*count;
		if (!best || series_better(&s->lines[i], best))
			best = &s->lines[i];
	}
	return best;
}

/* How many combinations meet a target. */
static void headline_combinations(struct headline *h, const struct series_lines *s,
				  const struct series_line *of, const struct target_result *target)
{
	unsigned states[TARGET_STATES], all = series_target_states(s, of, target->name, states);

	HEADLINE_SAY(h, "; %u of %u meet the target of %s", states[TARGET_MET], all, target->label);
	if (states[TARGET_UNKNOWN])
		HEADLINE_SAY(h, ", of %u it cannot be told", states[TARGET_UNKNOWN]);
}

static void headline_series(struct headline *h, const struct results_file *f,
			    const struct series_lines *s, const struct series_line *line)
{
	unsigned combinations;
	const struct series_line *best = headline_best(s, line, &combinations);

	if (combinations > 1)
		line = best;
	h->phase = line->first;
	doubts_of_line(&h->doubts, f, line);
	HEADLINE_SAY(h, "%s: ", line->first->record.name);
	if (combinations > 1)
		HEADLINE_SAY(h, "the best of %u combinations is %s with ", combinations,
			     line->first->record.sweep);
	headline_mean(h, line);
	for (uint32_t i = 0; i < line->first->target_count; i++) {
		const struct target_result *t = &line->first->targets[i];
		struct target_result all = series_target(line, t->name);

		if (combinations > 1)
			headline_combinations(h, s, line, t);
		else
			headline_target(h, &all, strcmp(t->name, "target_au") == 0);
	}
	doubts_say(h->text, HEADLINE_BYTES, &h->doubts, false);
}

/* The answer to the run's question, and what the figures behind it are worth. */
static void headline_answer(struct headline *h, const struct results_file *f,
			    const struct series_lines *s)
{
	const struct answer_view *view = answer_view(f);
	const struct series_line *line = view->line(f, s);

	if (line) {
		h->phase = line->first;
		doubts_of_line(&h->doubts, f, line);
	}
	if (view->explain)
		view->explain(&h->doubts, f);
	if (view->once)
		doubts_drop(&h->doubts, DOUBT_REPEATS);
	view->say(h->text, HEADLINE_BYTES, f);
	/* What has no figures has none that could be void. */
	if (view->has_figures && !view->has_figures(f))
		return;
	doubts_say(h->text, HEADLINE_BYTES, &h->doubts, false);
}

bool headline_of(struct headline *h, const struct results_file *f)
{
	const struct results_phase_read *p = headline_phase(f);
	const struct series_line *line = NULL;
	struct series_lines s = {0};
	bool whole = true;

	*h = (struct headline){.phase = p};
	if (f->simulated)
		HEADLINE_SAY(h, "Simulated, not measured: ");
	if (f->runs > 1 || f->answer.type) {
		whole = series_make(&s, f);
		line = whole && p ? headline_line(&s, p) : NULL;
	}
	if (f->answer.type)
		headline_answer(h, f, &s);
	else if (line)
		headline_series(h, f, &s, line);
	else if (p)
		headline_run(h, f, p);
	else
		HEADLINE_SAY(h, "No phase has finished");
	if (p && !results_ended_well(f->status) && !h->doubts.raised[DOUBT_ENDED])
		HEADLINE_SAY(h, "; the run itself %s",
			     strcmp(f->status, "interrupted") == 0 ? "was interrupted"
			     : strcmp(f->status, "running") == 0   ? "has not ended yet"
								   : "failed");
	HEADLINE_SAY(h, ".");
	series_free_lines(&s);
	return whole;
}
