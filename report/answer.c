/* SPDX-License-Identifier: Apache-2.0 */
/* Answers: see answer.h. */
#include "report/answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct answer_view *answer_view(const struct results_file *f)
{
	static const struct answer_view *const views[ANSWERS] = {[ANSWER_FIND] = &answer_find,
								 [ANSWER_TUNE] = &answer_tune,
								 [ANSWER_ASSESS] = &answer_assess};

	return views[f->answer.type];
}

void *answer_rows(const struct results_file *f)
{
	const struct answered *a = &f->answer;
	size_t size = answer_kinds[a->type].rows.size;
	void *rows = malloc((a->count + 1) * size);

	if (!rows)
		return NULL;
	if (a->count)
		memcpy(rows, a->rows, a->count * size);
	if (answer_view(f)->order)
		qsort(rows, a->count, size, answer_view(f)->order);
	return rows;
}

struct report_table answer_table(const struct results_file *f, const void *rows)
{
	const struct answer_kind *kind = &answer_kinds[f->answer.type];

	return (struct report_table){.key = kind->rows_name,
				     .columns = answer_view(f)->rows,
				     .rows = rows,
				     .count = f->answer.count,
				     .stride = kind->rows.size};
}

double answer_known(const void *row, int offset)
{
	uint64_t value;

	memcpy(&value, (const char *)row + offset, sizeof(value));
	return value == ANSWER_UNKNOWN ? NAN : (double)value;
}
