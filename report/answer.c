/* SPDX-License-Identifier: Apache-2.0 */
/* Answers: see answer.h. */
#include "report/answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/claim.h"
#include "report/phase_columns.h"

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
				     .flat = true,
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

static const char *answer_claimed(const void *claim)
{
	return claim_words[((const struct claim *)claim)->state];
}

static const char *answer_missing(const void *claim)
{
	const struct claim *c = claim;

	return *c->missing ? c->missing : NULL;
}

static const struct column claim_columns[] = {
	{.type = COLUMN_WORD, .key = "claim", .word = answer_claimed},
	FIELD(NAME, struct claim, evidence),
	{.type = COLUMN_WORD, .key = "missing", .word = answer_missing},
	COLUMNS_END};

bool answer_parts(struct document *d, const struct results_file *f)
{
	struct assess_ceiling ceilings[ASSESS_CEILINGS_MAX];
	void *rows = answer_rows(f);
	struct report_table table;
	struct claim claim;

	if (!rows)
		return false;
	answer_claim(&f->answer, &claim);
	document_fields(d, answer_view(f)->head, f->answer.head);
	document_fields(d, claim_columns, &claim);
	if (f->answer.type == ANSWER_ASSESS) {
		unsigned count = assess_ceilings(f->answer.head, ceilings);

		table = (struct report_table){.key = "ceilings",
					      .columns = assess_ceiling_columns,
					      TABLE_ROWS(ceilings, count)};
		document_table(d, &table);
	}
	table = answer_table(f, rows);
	document_table(d, &table);
	free(rows);
	return true;
}

static const char *answer_name(const void *file)
{
	return answer_kinds[((const struct results_file *)file)->answer.type].name;
}

bool answers_write(struct document *d, const void *about)
{
	static const struct column kind[] = {
		{.type = COLUMN_WORD, .key = "answer", .word = answer_name}, COLUMNS_END};
	const struct answered_files *a = about;
	bool whole = true;

	document_open_list(d, "answers");
	for (unsigned i = 0; whole && i < a->count; i++) {
		const struct results_file *f = a->files[i];
		char text[1024] = "";

		answer_view(f)->say(text, sizeof(text), f);
		document_say(d, "%s%s: %s.\n", i ? "\n" : "", f->path, text);
		document_open_row(d, report_file_columns, f);
		document_fields(d, kind, f);
		whole = answer_parts(d, f);
		document_close(d);
	}
	document_close(d);
	return whole;
}
