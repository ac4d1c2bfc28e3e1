/* SPDX-License-Identifier: Apache-2.0 */
/* Quantiles of a histogram: see quantile.h. */
#include "core/measure/quantile.h"

#include "core/measure/hist.h"

const struct quantile_kind quantile_kinds[QUANTILES] = {
#define QUANTILE_ROW(id, name, share) {#name, share},
	QUANTILE_LIST(QUANTILE_ROW)
#undef QUANTILE_ROW
};

uint64_t quantile_ns(const struct hist *h, enum quantile quantile)
{
	return hist_quantile_ns(h, quantile_kinds[quantile].share);
}
