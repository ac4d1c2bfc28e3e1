/* SPDX-License-Identifier: Apache-2.0 */
/* Quantiles of a histogram that haul keeps and shows, in one list: attributes in results.h5,
 * columns of its /summary, keys of `haul report --json` and columns of --csv come from it. */
#ifndef HAUL_CORE_MEASURE_QUANTILE_H
#define HAUL_CORE_MEASURE_QUANTILE_H

#include <stdint.h>

/* clang-format off */
#define QUANTILE_LIST(X) \
	X(P50, p50, 0.5) \
	X(P95, p95, 0.95) \
	X(P99, p99, 0.99) \
	X(P999, p999, 0.999) \
	X(P9999, p9999, 0.9999)
/* clang-format on */

enum quantile {
#define QUANTILE_ENUM(id, name, share) QUANTILE_##id,
	QUANTILE_LIST(QUANTILE_ENUM)
#undef QUANTILE_ENUM
		QUANTILES
};

struct quantile_kind {
	const char *name; /* "p99" */
	double share;     /* 0.99 */
};
extern const struct quantile_kind quantile_kinds[QUANTILES];

struct hist;
uint64_t quantile_ns(const struct hist *h, enum quantile quantile);

#endif
