/* SPDX-License-Identifier: Apache-2.0 */
/* Listing of a folder: see file_list.h. */
#include "report/file_list.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/series.h"

static int file_list_names(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > 3 && length < FILE_LIST_PATH_BYTES &&
	       strcmp(entry->d_name + length - 3, ".h5") == 0;
}

/* The phase whose figures are shown; NULL: there is none. */
static const struct results_phase_read *file_list_phase(const struct results_file *f)
{
	const struct results_phase_read *found = NULL;

	for (uint32_t i = f->phase_count; i-- > 0;) {
		const struct results_phase_read *p = &f->phases[i];

		if (!series_counts(p) || !isfinite(series_figure_of(p, SERIES_BYTES)))
			continue;
		/* The AU of ranks is read from the file, so only phases that have one are asked. */
		if (results_role(&p->merged, ROLE_UTILISATION) >= 0 &&
		    isfinite(series_figure_of(p, SERIES_AU)))
			return p;
		if (!found)
			found = p;
	}
	return found;
}

static void file_list_fill(struct file_list_row *row, const char *file,
			   const struct results_file *f)
{
	const struct results_phase_read *p = file_list_phase(f);

	*row = (struct file_list_row){
		.ranks = f->ranks,
		.nodes = f->nodes,
		.runs = f->runs,
		.seconds = f->seconds,
		.au = p ? series_figure_of(p, SERIES_AU) : NAN,
		.bytes_per_second = p ? series_figure_of(p, SERIES_BYTES) : NAN,
	};
	snprintf(row->file, sizeof(row->file), "%s", file);
	snprintf(row->name, sizeof(row->name), "%s", f->name);
	snprintf(row->status, sizeof(row->status), "%s", f->status);
	snprintf(row->started, sizeof(row->started), "%s", f->started);
	snprintf(row->phase, sizeof(row->phase), "%s", p ? p->record.name : "");
}

/* The newest first; times are ISO 8601, so their texts are in the order of time. */
static int file_list_compare(const void *a, const void *b)
{
	const struct file_list_row *x = a, *y = b;
	int order = strcmp(y->started, x->started);

	return order ? order : strcmp(x->file, y->file);
}

static int file_list_file(struct file_list *l, const char *folder, const char *name)
{
	char path[4096 + FILE_LIST_PATH_BYTES];
	struct results_file *f;
	struct err err = {0};
	int rc;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	rc = results_open(&f, path, &err);
	if (rc == -ENOMEM)
		return rc;
	if (rc < 0) {
		l->unreadable++;
		return 0;
	}
	file_list_fill(&l->rows[l->count++], name, f);
	results_unload(f);
	return 0;
}

int file_list_make(struct file_list *l, const char *folder, struct err *err)
{
	struct dirent **entries = NULL;
	int n = scandir(folder, &entries, file_list_names, alphasort), rc = 0;

	*l = (struct file_list){0};
	if (n < 0)
		return err_set(err, -errno, "%s: %s", folder, strerror(errno));
	if (n > FILE_LIST_FILES_MAX)
		rc = err_set(err, -E2BIG, "%s: has %d files named *.h5, more than %d", folder, n,
			     FILE_LIST_FILES_MAX);
	if (rc == 0)
		l->rows = calloc((size_t)n + 1, sizeof(*l->rows));
	if (rc == 0 && !l->rows)
		rc = -ENOMEM;
	for (int i = 0; i < n; i++) {
		if (rc == 0)
			rc = file_list_file(l, folder, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	if (rc == -ENOMEM)
		return err_set(err, rc, "no memory for the list of %s", folder);
	if (rc == 0)
		qsort(l->rows, l->count, sizeof(*l->rows), file_list_compare);
	return rc;
}

void file_list_free(struct file_list *l)
{
	free(l->rows);
	l->rows = NULL;
}

/* "2026-01-31T23:59:59Z" to the minute: "2026-01-31 23:59". */
static void file_list_started(char cell[TABLE_CELL_BYTES], const void *row)
{
	enum { DAY_CHARACTERS = 10, MINUTE_CHARACTERS = 16 };
	const struct file_list_row *r = row;

	snprintf(cell, TABLE_CELL_BYTES, "%.*s", MINUTE_CHARACTERS, r->started);
	if (strlen(cell) > DAY_CHARACTERS)
		cell[DAY_CHARACTERS] = ' ';
}

static const struct column file_list_columns[] = {
	COLUMN(NAME, struct file_list_row, file, "file", "file", .width = 28),
	SHOWN("started", file_list_started),
	COLUMN(NAME, struct file_list_row, name, "name", "job", .width = 16),
	COLUMN(NAME, struct file_list_row, status, "status", "status", .width = 11),
	FIELD(NAME, struct file_list_row, started),
	FIELD(REAL, struct file_list_row, seconds),
	COLUMN(U64, struct file_list_row, ranks, "ranks", "ranks", .format = FORMAT_COUNT),
	COLUMN(REAL, struct file_list_row, seconds, NULL, "time", .format = FORMAT_TIME),
	FIELD(U64, struct file_list_row, nodes),
	FIELD(U64, struct file_list_row, runs),
	FIELD(NAME, struct file_list_row, phase),
	COLUMN(REAL, struct file_list_row, au, "au", "AU", .format = FORMAT_SHARE),
	COLUMN(REAL, struct file_list_row, bytes_per_second, "bytes_per_second", "GB/s",
	       .format = FORMAT_GIGA),
	COLUMNS_END};

static const struct column file_list_counts[] = {
	COLUMN(U32, struct file_list, unreadable, "not_of_haul", NULL), COLUMNS_END};

bool file_list_write(struct document *d, const void *about)
{
	const struct file_list *l = about;
	const struct report_table table = {.key = "results",
					   .flat = true,
					   .columns = file_list_columns,
					   TABLE_ROWS(l->rows, l->count)};

	document_table(d, &table);
	if (!l->count)
		document_say(d, "there are no results files here\n");
	document_fields(d, file_list_counts, l);
	if (l->unreadable)
		document_say(d, "%u more file%s named *.h5, not of haul\n", l->unreadable,
			     l->unreadable == 1 ? " is" : "s are");
	return true;
}
