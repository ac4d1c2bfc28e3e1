#include "report/accounts.h"

#include <math.h>

bool accounts_of(const struct results_phase_read *p, struct accounts *a)
{
	static const char *const names[ACCOUNTS] = {
		[ACCOUNT_COMPUTE] = "compute_ns",
		[ACCOUNT_OPEN] = "open_ns",
		[ACCOUNT_FIRST_BYTE] = "first_byte_ns",
		[ACCOUNT_TRANSFER] = "transfer_ns",
		[ACCOUNT_QUEUE] = "queue_ns",
		[ACCOUNT_RANKS] = "ranks_ns",
		[ACCOUNT_DECODE] = "decode_ns",
		[ACCOUNT_COPY] = "copy_ns",
		[ACCOUNT_HAUL] = "haul_ns",
	};

	if (results_column(&p->merged, names[ACCOUNT_COMPUTE]) < 0 || !p->ranks.row_count)
		return false;
	a->total = 0;
	for (int i = 0; i < ACCOUNTS; i++) {
		double sum = results_value(&p->merged, 0, names[i]);

		a->seconds[i] = isnan(sum) ? 0 : sum / 1e9 / (double)p->ranks.row_count;
		a->total += a->seconds[i];
	}
	return true;
}

int accounts_lost(const struct accounts *a)
{
	return a->total > 0 ? 1000 - (int)lround(a->seconds[ACCOUNT_COMPUTE] / a->total * 1000) : 0;
}

void accounts_tenths(const struct accounts *a, int whole, int tenths[ACCOUNTS])
{
	double left[ACCOUNTS], lost = a->total - a->seconds[ACCOUNT_COMPUTE];
	int given = 0;

	for (int i = ACCOUNT_COMPUTE + 1; i < ACCOUNTS; i++) {
		double share = lost > 0 ? a->seconds[i] / lost * whole : 0;

		tenths[i] = (int)share;
		left[i] = share - tenths[i];
		given += tenths[i];
	}
	for (; given < whole; given++) {
		int most = ACCOUNT_COMPUTE + 1;

		for (int i = most; i < ACCOUNTS; i++)
			most = left[i] > left[most] ? i : most;
		tenths[most]++;
		left[most] = -1;
	}
	tenths[ACCOUNT_COMPUTE] = 1000 - whole;
}

struct spread spread_of(const struct results_table *ranks, const char *column)
{
	struct spread s = {NAN, NAN, NAN};
	uint64_t n = 0;
	double sum = 0;

	for (uint64_t i = 0; i < ranks->row_count; i++) {
		double v = results_value(ranks, i, column);

		if (isnan(v))
			continue;
		s.min = n && s.min < v ? s.min : v;
		s.max = n && s.max > v ? s.max : v;
		sum += v;
		n++;
	}
	if (n)
		s.mean = sum / (double)n;
	return s;
}
