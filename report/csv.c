/* SPDX-License-Identifier: Apache-2.0 */
/* Report of files as CSV: one row per phase. */
#include "facts/csv.h"

#include <stdio.h>
#include <stdlib.h>

#include "report/phase.h"
#include "report/phase_columns.h"
#include "report/shapes.h"

char *report_csv(const struct results_file *const *files, unsigned count)
{
	bool whole = true;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (unsigned i = 0; i < count; i++) {
		struct report_table table = {.columns = phase_columns,
					     .stride = sizeof(struct phase_row)};
		struct phase_row *rows = phase_rows_of(files[i], NULL, &table.count);

		table.rows = rows;
		csv_table(out, i > 0, report_file_columns, files[i], &table);
		whole = whole && rows;
		free(rows);
	}
	if (fclose(out) == 0 && whole)
		return text;
	free(text);
	return NULL;
}
