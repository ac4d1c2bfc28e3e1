/* SPDX-License-Identifier: Apache-2.0 */
/* Printer of tables as JSON, into objects of cJSON. Where there is no memory, nothing is added. Any
 * thread. */
#ifndef HAUL_FACTS_JSON_H
#define HAUL_FACTS_JSON_H

#include <cjson/cJSON.h>

#include "core/json.h"
#include "facts/table.h"

/* Adds the table as a list, or the fields of one row, to an object. */
void json_table(cJSON *to, const struct report_table *t);
void json_row(cJSON *to, const struct column *columns, const void *row);

/* Adds an object with the statistics of repeated measurements. */
void json_add_stats(cJSON *to, const char *key, const struct stats *s);

#endif
