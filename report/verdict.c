/* SPDX-License-Identifier: Apache-2.0 */
/* Verdict on a training: see verdict.h. */
#include "report/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "report/accounts.h"
#include "report/against.h"
#include "report/phase.h"
#include "report/say.h"
#include "report/skew.h"

/* A loop that is at most this busy without storage has a cost of its own. */
static const double loop_is_free = 0.995;
/* Where AU counts this much of the time, AU and the accounts describe the same time. */
static const double measured_whole = 0.98;

bool verdict_is(const struct results_phase_read *p)
{
	/* Without their side files, phases of all kinds have the columns of /summary. */
	return results_role(&p->merged, ROLE_UTILISATION) >= 0 &&
	       !(p->gone && isnan(results_role_value(&p->merged, 0, ROLE_UTILISATION)));
}

double verdict_starved(const struct results_phase_read *p)
{
	return results_role_value(&p->merged, 0, ROLE_STARVED);
}

/* A new line, which is empty. Each sentence takes one, so there is always room. */
static char *verdict_line(struct verdict *v)
{
	return v->line[v->count++];
}

#define VERDICT_SAY(line, ...) say(line, VERDICT_BYTES, __VA_ARGS__)

void verdict_busy_share(char text[TARGET_TEXT_BYTES], double au, const struct target_result *target)
{
	char asked[TARGET_TEXT_BYTES] = "";
	int decimals = 1;

	if (target)
		target_value(asked, target->unit, target->asked, 6);
	do {
		snprintf(text, TARGET_TEXT_BYTES, "%.*f %%", decimals, au * 100);
	} while (target && au < target->asked && strtod(text, NULL) >= strtod(asked, NULL) &&
		 ++decimals < 8);
}

void verdict_without(char *text, size_t bytes, const struct results_phase_read *p)
{
	double checkpoints = accounts_parts(p).checkpoints;

	if (checkpoints > 1 - measured_whole)
		say(text, bytes, " without checkpoints, which took %.0f %% of the phase",
		    checkpoints * 100);
}

static void verdict_busy(struct verdict *v, const struct results_phase_read *p, double au)
{
	char *line = verdict_line(v), share[TARGET_TEXT_BYTES], asked[TARGET_TEXT_BYTES];

	v->target = phase_target(p, "target_au");
	verdict_busy_share(share, au, v->target);
	VERDICT_SAY(line, "The accelerators were busy %s of the time", share);
	verdict_without(line, VERDICT_BYTES, p);
	if (v->target)
		VERDICT_SAY(line, "; the target of %s %s",
			    target_value(asked, v->target->unit, v->target->asked, 6),
			    target_word(v->target));
	VERDICT_SAY(line, ".");
}

/* " (transfer 1.9, open 0.3)", the largest first. */
static void verdict_storage(char *line, const struct account_shares *a,
			    const int tenths[ACCOUNTS_MAX])
{
	bool told[ACCOUNTS_MAX] = {false};
	const char *before = " (";

	for (;;) {
		int most = -1;

		for (uint32_t i = 0; i < a->count; i++)
			if (a->list[i].role == ROLE_ACCOUNT_STORAGE && !told[i] && tenths[i] &&
			    (most < 0 || tenths[i] > tenths[most]))
				most = (int)i;
		if (most < 0)
			break;
		told[most] = true;
		VERDICT_SAY(line, "%s%s %.1f", before, a->list[most].words, tenths[most] / 10.0);
		before = ", ";
	}
	VERDICT_SAY(line, ")");
}

/* "2.2 % waiting for storage (…), 1.1 % for the slowest rank (rank 3 on node7), 0.3 % haul". */
static void verdict_parts(char *line, const struct results_file *f,
			  const struct results_phase_read *p, const struct account_shares *a,
			  const int tenths[ACCOUNTS_MAX])
{
	const char *before = "";
	char who[SKEW_TEXT_BYTES];
	int storage = 0;

	for (uint32_t i = 0; i < a->count; i++)
		storage += a->list[i].role == ROLE_ACCOUNT_STORAGE ? tenths[i] : 0;
	if (storage) {
		VERDICT_SAY(line, "%.1f %% waiting for storage", storage / 10.0);
		verdict_storage(line, a, tenths);
		before = ", ";
	}
	for (uint32_t i = 0; i < a->count; i++) {
		if (a->list[i].role != ROLE_ACCOUNT_OTHER || !tenths[i])
			continue;
		VERDICT_SAY(line, "%s%.1f %% %s", before, tenths[i] / 10.0, a->list[i].words);
		if (i == ACCOUNT_RANKS && skew_of(f, p, who))
			VERDICT_SAY(line, " (%s)", who);
		before = ", ";
	}
}

/* The accounts hold the whole phase, but AU leaves the warm-up out. Where the two differ, the
 * sentence says which time it describes and how the phase is divided, unless the difference is a
 * matter of rounding. */
static void verdict_lost(struct verdict *v, const struct results_file *f,
			 const struct results_phase_read *p, double au)
{
	const struct time_parts parts = accounts_parts(p);
	int tenths[ACCOUNTS_MAX], whole, beside_au;
	struct account_shares a;
	char *line;

	if (!accounts_of(p, &a))
		return;
	whole = accounts_lost(&a);
	beside_au = 1000 - (int)lround(au * 1000);
	if (abs(beside_au - whole) <= 1)
		whole = beside_au;
	if (whole <= 0)
		return;
	accounts_tenths(&a, whole, tenths);
	line = verdict_line(v);
	if (whole == beside_au)
		VERDICT_SAY(line, "Of the %.1f %% lost: ", whole / 10.0);
	else if (parts.warmup > 1 - measured_whole)
		VERDICT_SAY(line,
			    "Of the whole phase (%.0f %% of it is warm-up) %.1f %% was lost: ",
			    parts.warmup * 100, whole / 10.0);
	else if (parts.checkpoints > 1 - measured_whole)
		VERDICT_SAY(line, "Of the whole phase, checkpoints included, %.1f %% was lost: ",
			    whole / 10.0);
	else
		VERDICT_SAY(line, "Of the whole phase, warm-up included, %.1f %% was lost: ",
			    whole / 10.0);
	verdict_parts(line, f, p, &a, tenths);
	VERDICT_SAY(line, ".");
}

/* The rate of plain reads from the store, where the same file has such a phase. */
static void verdict_ceiling(struct verdict *v, const struct results_file *f,
			    const struct results_phase_read *p)
{
	char rate[UNITS_TEXT_BYTES];
	struct ceiling c;

	if (!plain_io_ceiling(f, p, &c))
		return;
	VERDICT_SAY(verdict_line(v),
		    "Plain reads take %s/s from this store (%s); training took %.3g %% of that.",
		    units_bytes_decimal(rate, c.bytes_per_second), c.phase->record.name,
		    c.share * 100);
}

/* The loop without storage is short compared with the phase. Where it comes out less busy than the
 * phase, the comparison means nothing. */
static void verdict_loop(struct verdict *v, const struct results_phase_read *p, double au)
{
	if (p->record.null_au < loop_is_free && p->record.null_au > au)
		VERDICT_SAY(verdict_line(v),
			    "Without storage the same loop reaches %.1f %%: the rest is haul's own "
			    "cost here.",
			    p->record.null_au * 100);
}

void verdict_of(const struct results_file *f, const struct results_phase_read *p, struct verdict *v)
{
	double au = results_role_value(&p->merged, 0, ROLE_UTILISATION);

	*v = (struct verdict){.busy = !isnan(au)};
	if (!isnan(au)) {
		verdict_busy(v, p, au);
		verdict_lost(v, f, p, au);
	}
	verdict_ceiling(v, f, p);
	if (!isnan(au))
		verdict_loop(v, p, au);
}
