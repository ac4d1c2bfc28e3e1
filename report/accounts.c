/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts in a results file: see accounts.h. */
#include "report/accounts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_account(enum role role)
{
	return role == ROLE_ACCOUNT_COMPUTE || role == ROLE_ACCOUNT_STORAGE ||
	       role == ROLE_ACCOUNT_OTHER;
}

/* "first_byte_ns" -> "first_byte". */
static void account_name(char name[RESULTS_NAME_BYTES], const char *column)
{
	size_t n = strlen(column);

	if (n > 3 && strcmp(column + n - 3, "_ns") == 0)
		n -= 3;
	snprintf(name, RESULTS_NAME_BYTES, "%.*s", (int)n, column);
}

static struct account_share *find_account(struct account_shares *a, const char *name)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (strcmp(a->list[i].name, name) == 0)
			return &a->list[i];
	return NULL;
}

/* An account that this program does not know: its name is used as its words. */
static struct account_share *add_account(struct account_shares *a, const char *name, enum role role)
{
	struct account_share *s;

	if (a->count == ACCOUNTS_MAX)
		return NULL;
	s = &a->list[a->count++];
	*s = (struct account_share){.role = role};
	snprintf(s->name, sizeof(s->name), "%s", name);
	snprintf(s->words, sizeof(s->words), "%s", name);
	for (char *c = s->words; *c; c++)
		*c = *c == '_' ? ' ' : *c;
	return s;
}

static void known_accounts(struct account_shares *a)
{
	*a = (struct account_shares){.count = ACCOUNTS};
	for (int i = 0; i < ACCOUNTS; i++) {
		const struct account_kind *kind = &account_kinds[i];
		struct account_share *s = &a->list[i];

		s->role = kind->role;
		snprintf(s->name, sizeof(s->name), "%s", kind->name);
		snprintf(s->words, sizeof(s->words), "%s", kind->words);
	}
}

bool accounts_of(const struct results_phase_read *p, struct account_shares *a)
{
	const struct results_table *t = &p->merged;
	char name[RESULTS_NAME_BYTES];
	uint64_t ranks;

	known_accounts(a);
	if (results_role(t, ROLE_ACCOUNT_COMPUTE) < 0)
		return false;
	ranks = results_ranks(p)->row_count;
	if (!ranks)
		return false;
	for (uint32_t c = 0; c < t->column_count; c++) {
		struct account_share *s;

		if (!is_account(t->columns[c].role))
			continue;
		account_name(name, t->columns[c].name);
		s = find_account(a, name);
		if (!s)
			s = add_account(a, name, t->columns[c].role);
		if (!s)
			continue;
		s->seconds = results_cell(t, 0, (int)c) / 1e9 / (double)ranks;
		a->total += s->seconds;
	}
	return true;
}

struct time_parts accounts_parts(const struct results_phase_read *p)
{
	double share = results_role_value(&p->merged, 0, ROLE_MEASURED_TIME) /
		       results_role_value(&p->merged, 0, ROLE_ALL_TIME);
	struct time_parts parts = {.measured = isfinite(share) ? share : 1};
	struct account_shares a;

	if (isfinite(share) && accounts_of(p, &a) && a.total > 0)
		parts.checkpoints = fmin(a.list[ACCOUNT_CHECKPOINT].seconds / a.total, 1 - share);
	parts.warmup = 1 - parts.measured - parts.checkpoints;
	return parts;
}

double accounts_seconds(const struct account_shares *a, enum role role)
{
	double sum = 0;

	for (uint32_t i = 0; i < a->count; i++)
		sum += a->list[i].role == role ? a->list[i].seconds : 0;
	return sum;
}

int accounts_lost(const struct account_shares *a)
{
	double compute = accounts_seconds(a, ROLE_ACCOUNT_COMPUTE);

	return a->total > 0 ? 1000 - (int)lround(compute / a->total * 1000) : 0;
}

void accounts_tenths(const struct account_shares *a, int whole, int tenths[ACCOUNTS_MAX])
{
	double left[ACCOUNTS_MAX], lost = a->total - accounts_seconds(a, ROLE_ACCOUNT_COMPUTE);
	int given = 0;

	for (uint32_t i = 0; i < a->count; i++) {
		bool compute = a->list[i].role == ROLE_ACCOUNT_COMPUTE;
		double share = lost > 0 && !compute ? a->list[i].seconds / lost * whole : 0;

		tenths[i] = compute ? 1000 - whole : (int)share;
		left[i] = compute ? -1 : share - tenths[i];
		given += compute ? 0 : tenths[i];
	}
	for (; given < whole; given++) {
		uint32_t most = 0;

		for (uint32_t i = 0; i < a->count; i++)
			most = left[i] > left[most] ? i : most;
		tenths[most]++;
		left[most] = -1;
	}
}
