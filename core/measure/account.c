/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts: see account.h. */
#include "core/measure/account.h"

#include <string.h>

const struct account_kind account_kinds[ACCOUNTS] = {
#define ACCOUNT_KIND(id, name, words, sort, help) {#name, words, help, ROLE_ACCOUNT_##sort},
	ACCOUNT_LIST(ACCOUNT_KIND)
#undef ACCOUNT_KIND
};

void account_start(struct accounts *a, enum account state, uint64_t now_ns)
{
	memset(a, 0, sizeof(*a));
	a->state = state;
	a->start_ns = now_ns;
	a->since_ns = now_ns;
}

void account_switch(struct accounts *a, enum account state, uint64_t now_ns)
{
	if (now_ns > a->since_ns) {
		a->ns[a->state] += now_ns - a->since_ns;
		a->since_ns = now_ns;
	}
	a->state = state;
}

void account_skip(struct accounts *a, uint64_t now_ns)
{
	if (now_ns > a->since_ns)
		a->since_ns = now_ns;
}

void account_blame(struct accounts *a, uint64_t wait_ns, const uint64_t blamed[ACCOUNTS])
{
	uint64_t left = wait_ns < a->ns[ACCOUNT_HAUL] ? wait_ns : a->ns[ACCOUNT_HAUL];
	uint64_t take;
	int s;

	for (s = 0; s < ACCOUNTS; s++) {
		if (s == ACCOUNT_HAUL)
			continue;
		take = blamed[s] < left ? blamed[s] : left;
		a->ns[s] += take;
		a->ns[ACCOUNT_HAUL] -= take;
		left -= take;
	}
}

uint64_t account_wall(const struct accounts *a)
{
	uint64_t sum = 0;
	int s;

	for (s = 0; s < ACCOUNTS; s++)
		sum += a->ns[s];
	return sum;
}
