/* Training as text: how busy its accelerators were, what time was lost and why, what the loop
 * itself costs, and whether the machine was busy with other work. Sentences without information are
 * left out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "report/accounts.h"
#include "report/plain_io.h"
#include "report/skew.h"
#include "report/text/page.h"
#include "report/text/table.h"

enum { SENTENCE_BYTES = 768 };

/* A loop that is at most this busy without storage has a cost of its own. */
static const double loop_is_free = 0.995;
/* Where AU counts this much of the time, AU and the accounts describe the same time. */
static const double measured_whole = 0.98, measured_little = 0.5;

static void train_busy(const struct page *page, const struct results_phase_read *p, bool named,
		       double au);
static void train_measured(const struct page *page, const struct results_phase_read *p);
static void train_lost(const struct page *page, const struct results_phase_read *p, double au);
static void train_ceiling(const struct page *page, const struct results_phase_read *p);
static void loop_cost(const struct page *page, const struct results_phase_read *p, double au);
static void train_machine(const struct page *page, const struct results_phase_read *p);

static bool is_training(const struct results_phase_read *p)
{
	return results_role(&p->merged, ROLE_UTILISATION) >= 0;
}

static void train_sentences(const struct page *page, const struct results_phase_read *p, bool named)
{
	double au = results_role_value(&p->merged, 0, ROLE_UTILISATION);

	if (!isnan(au)) {
		train_busy(page, p, named, au);
		train_measured(page, p);
		train_lost(page, p, au);
	}
	train_ceiling(page, p);
	if (!isnan(au))
		loop_cost(page, p, au);
	train_machine(page, p);
}

const struct text_kind text_train = {.is = is_training, .sentences = train_sentences};

/* AU as a percentage: with one decimal, or as many as tell it apart from the target. */
static void train_busy_share(char text[TARGET_TEXT_BYTES], double au,
			     const struct target_result *target)
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

static const struct target_result *au_target(const struct results_phase_read *p)
{
	for (uint32_t i = 0; i < p->target_count; i++)
		if (strcmp(p->targets[i].name, "target_au") == 0)
			return &p->targets[i];
	return NULL;
}

static void train_busy(const struct page *page, const struct results_phase_read *p, bool named,
		       double au)
{
	const struct target_result *target = au_target(p);
	char sentence[SENTENCE_BYTES] = "", share[TARGET_TEXT_BYTES], asked[TARGET_TEXT_BYTES];

	train_busy_share(share, au, target);
	if (named)
		page_add(sentence, sizeof(sentence), "%s: ", p->record.name);
	page_add(sentence, sizeof(sentence), "The accelerators were busy %s of the time", share);
	if (target)
		page_add(sentence, sizeof(sentence), "; the target of %s is %s%s%s",
			 target_value(asked, target->unit, target->asked, 6),
			 page_paint(page, target->met ? TEXT_GREEN : TEXT_RED),
			 target->met ? "met" : "missed", page_paint(page, TEXT_PLAIN));
	page_add(sentence, sizeof(sentence), ".");
	text_wrap(page->out, sentence, 0, 0);
}

/* The share of the time that AU counts; 1 where the file does not have it. */
static double measured_share(const struct results_phase_read *p)
{
	double share = results_role_value(&p->merged, 0, ROLE_MEASURED_TIME) /
		       results_role_value(&p->merged, 0, ROLE_ALL_TIME);

	return isfinite(share) ? share : 1;
}

static void train_measured(const struct page *page, const struct results_phase_read *p)
{
	char sentence[SENTENCE_BYTES] = "";

	if (measured_share(p) >= measured_little)
		return;
	page_add(
		sentence, sizeof(sentence),
		"AU counts only %.0f %% of the phase; the rest is warm-up, so a longer phase would tell "
		"more.",
		measured_share(p) * 100);
	text_wrap(page->out, sentence, 0, 0);
}

/* " (transfer 1.9, open 0.3)", the largest first. */
static void add_storage(char *buf, size_t size, const struct account_shares *a,
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
		page_add(buf, size, "%s%s %.1f", before, a->list[most].words, tenths[most] / 10.0);
		before = ", ";
	}
	page_add(buf, size, ")");
}

/* "2.2 % waiting for storage (…), 1.1 % for the slowest rank (rank 3 on node7), 0.3 % haul". */
static void add_parts(char *buf, size_t size, const struct page *page,
		      const struct results_phase_read *p, const struct account_shares *a,
		      const int tenths[ACCOUNTS_MAX])
{
	const char *before = "";
	char who[SKEW_TEXT_BYTES];
	int storage = 0;

	for (uint32_t i = 0; i < a->count; i++)
		storage += a->list[i].role == ROLE_ACCOUNT_STORAGE ? tenths[i] : 0;
	if (storage) {
		page_add(buf, size, "%.1f %% waiting for storage", storage / 10.0);
		add_storage(buf, size, a, tenths);
		before = ", ";
	}
	for (uint32_t i = 0; i < a->count; i++) {
		if (a->list[i].role != ROLE_ACCOUNT_OTHER || !tenths[i])
			continue;
		page_add(buf, size, "%s%.1f %% %s", before, tenths[i] / 10.0, a->list[i].words);
		if (i == ACCOUNT_RANKS && skew_of(page->file, p, who))
			page_add(buf, size, " (%s)", who);
		before = ", ";
	}
}

/* The accounts hold the whole phase, but AU leaves the warm-up out. Where the two differ, the
 * sentence says which time it describes and how the phase is divided, unless the difference is a
 * matter of rounding. */
static void train_lost(const struct page *page, const struct results_phase_read *p, double au)
{
	char sentence[SENTENCE_BYTES] = "";
	int tenths[ACCOUNTS_MAX], whole, beside_au;
	struct account_shares a;

	if (!accounts_of(p, &a))
		return;
	whole = accounts_lost(&a);
	beside_au = 1000 - (int)lround(au * 1000);
	if (abs(beside_au - whole) <= 1)
		whole = beside_au;
	if (whole <= 0)
		return;
	accounts_tenths(&a, whole, tenths);
	if (whole == beside_au)
		page_add(sentence, sizeof(sentence), "Of the %.1f %% lost: ", whole / 10.0);
	else if (measured_share(p) < measured_whole)
		page_add(sentence, sizeof(sentence),
			 "Of the whole phase (%.0f %% of it is warm-up) %.1f %% was lost: ",
			 (1 - measured_share(p)) * 100, whole / 10.0);
	else
		page_add(sentence, sizeof(sentence),
			 "Of the whole phase, warm-up included, %.1f %% was lost: ", whole / 10.0);
	add_parts(sentence, sizeof(sentence), page, p, &a, tenths);
	page_add(sentence, sizeof(sentence), ".");
	text_wrap(page->out, sentence, 0, 0);
}

/* The rate of plain reads from the store, where the same file has such a phase. */
static void train_ceiling(const struct page *page, const struct results_phase_read *p)
{
	char sentence[SENTENCE_BYTES] = "", rate[UNITS_TEXT_BYTES];
	struct ceiling c;

	if (!plain_io_ceiling(page->file, p, &c))
		return;
	page_add(sentence, sizeof(sentence),
		 "Plain reads take %s/s from this store (%s); training took %.3g %% of that.",
		 units_bytes_decimal(rate, c.bytes_per_second), c.phase->record.name,
		 c.share * 100);
	text_wrap(page->out, sentence, 0, 0);
}

/* The loop without storage is short compared with the phase. Where it comes out less busy than the
 * phase, the comparison means nothing. */
static void loop_cost(const struct page *page, const struct results_phase_read *p, double au)
{
	if (p->record.null_au < loop_is_free && p->record.null_au > au)
		fprintf(page->out,
			"Without storage the same loop reaches %.1f %%: the rest is haul's own cost here.\n",
			p->record.null_au * 100);
}

/* More than one thread may be without a core at a time. */
static void train_machine(const struct page *page, const struct results_phase_read *p)
{
	char sentence[SENTENCE_BYTES] = "";
	double starved = text_starved(p);

	if (!(starved > TEXT_STARVED))
		return;
	if (starved < 1)
		page_add(
			sentence, sizeof(sentence),
			"This machine was busy: haul's threads waited %.0f ms per second for a core.",
			starved * 1000);
	else
		page_add(
			sentence, sizeof(sentence),
			"This machine was busy: %.1f of the threads of each rank waited for a core, on "
			"average.",
			starved);
	text_wrap(page->out, sentence, 0, 0);
}
