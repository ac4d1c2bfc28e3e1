/* SPDX-License-Identifier: Apache-2.0 */
/* Report as JSON. Keys are a contract (results-schema/json.md): they are added, never renamed.
 * Sizes are in bytes, times in seconds unless the key says _ns. Utilisation is a fraction. Sums of
 * ids are decimal strings, because they use all 64 bits.
 *
 * cJSON adds nothing when memory ends, so a text is checked once, at the end, when it is
 * printed. */
#ifndef HAUL_REPORT_JSON_JSON_H
#define HAUL_REPORT_JSON_JSON_H

#include <cjson/cJSON.h>

#include "facts/json.h"
#include "report/shapes.h"

/* A file as an object, with no phases yet in its array "phases". NULL: no memory. */
cJSON *json_file(const struct results_file *f);

/* A phase as an object; its tables (epochs, endpoints …), each under its own name; its single
 * steps; the ranks and nodes that were slow. */
cJSON *json_phase(const struct results_file *f, const struct results_phase_read *p,
		  const struct report_options *o);
void json_tables(cJSON *to, const struct results_phase_read *p);
void json_steps(cJSON *to, const struct results_phase_read *p, uint32_t rows_max);
/* How the ranks and the nodes of a phase differ; what they all did over time; its histograms. */
void json_units(cJSON *to, const struct results_file *f, const struct results_phase_read *p,
		uint32_t rows_max);
void json_timeline(cJSON *to, const struct results_phase_read *p, uint32_t rows_max);
void json_distributions(cJSON *to, const struct results_phase_read *p);
void json_slow(cJSON *to, const struct results_file *f, const struct results_phase_read *p);

/* What the figures are worth. */
struct doubts;
void json_doubts(cJSON *to, const struct doubts *d);

/* What MLPerf would report of a key-value cache, and its criteria; nothing of other phases. */
void json_cache(cJSON *to, const struct results_phase_read *p, bool voided);

/* One column of a row, under the column's name. */
void json_cell(cJSON *to, const struct results_table *t, uint64_t row, uint32_t column);

/* Adds what the sweeps set for the phase. */
void json_sets(cJSON *to, const struct results_phase_read *p);

#endif
