/* SPDX-License-Identifier: Apache-2.0 */
/* Quantiles of a histogram: see quantile.h. */
#include "core/measure/quantile.h"

const struct quantile_kind quantile_kinds[QUANTILES] = {
#define QUANTILE_ROW(id, name, share) {#name, share},
	QUANTILE_LIST(QUANTILE_ROW)
#undef QUANTILE_ROW
};
