/* SPDX-License-Identifier: Apache-2.0 */
/* Report of results files: see report.h. */
#include "report/report.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/part.h"
#include "facts/document.h"
#include "report/accept/accept.h"
#include "report/answer.h"
#include "report/compare.h"
#include "report/doubt.h"
#include "report/headline.h"
#include "report/scaling.h"
#include "report/series.h"
#include "results-schema/results_read.h"

/* Listing of a folder: its results files, the newest first. Files of other kinds are passed over;
 * results files that cannot be read are counted. */

enum { FILE_LIST_FILES_MAX = 4096, FILE_LIST_PATH_BYTES = 256 };

/* The figures are those of the last finished phase with a utilisation, else of the last one with
 * bytes per second; NaN where there is none. */
struct file_list_row {
	char file[FILE_LIST_PATH_BYTES]; /* its name in the folder */
	char name[RESULTS_NAME_BYTES], status[RESULTS_NAME_BYTES], started[RESULTS_NAME_BYTES];
	char phase[RESULTS_NAME_BYTES];
	uint64_t ranks, nodes, runs;
	double seconds, au, bytes_per_second;
};

struct file_list {
	struct file_list_row *rows;
	uint32_t count;
	uint32_t unreadable; /* files named *.h5 that are not results of haul */
};

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

/* Errno of reading the folder, with a sentence; -E2BIG where it has more than FILE_LIST_FILES_MAX
 * files named *.h5. Free it in any case. */
static int file_list_make(struct file_list *l, const char *folder, struct err *err)
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

static void file_list_free(struct file_list *l)
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

/* Writes it as a document. about: a struct file_list. */
static bool file_list_write(struct document *d, const void *about)
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

enum { PAGE_HEAD_BYTES = 4096 };

static void unload_all(struct results_file **files, unsigned count)
{
	for (unsigned i = 0; files && i < count; i++)
		results_unload(files[i]);
	free(files);
}

/* Call unload_all in any case. */
static int load_all(struct results_file ***out, const char *const *paths, unsigned count,
		    struct err *err)
{
	struct results_file **files = calloc(count + 1, sizeof(struct results_file *));
	int rc = files ? 0 : err_set(err, -ENOMEM, "no memory for the report");

	for (unsigned i = 0; rc == 0 && i < count; i++) {
		rc = results_load(&files[i], paths[i], err);
		if (rc == 0)
			doubts_judge(files[i]);
	}
	*out = files;
	return rc;
}

/* Writes the text and frees it. NULL: there was no memory for it. */
static int put_text(FILE *out, char *text, struct err *err)
{
	int rc = 0;

	if (!text)
		rc = err_set(err, -ENOMEM, "no memory for the report");
	else if (fputs(text, out) < 0 || fflush(out) != 0)
		rc = err_set(err, errno ? -errno : -EIO, "the report cannot be written: %s",
			     strerror(errno));
	free(text);
	return rc;
}

/* The report of every file, one after another. */
static char *text_of_all(struct results_file **files, unsigned count, enum report_shape shape,
			 const struct report_options *o)
{
	char *all = NULL;
	bool whole = true;
	size_t size;
	FILE *out;

	if (shape == REPORT_JSON)
		return report_json((const struct results_file *const *)files, count, o);
	if (shape == REPORT_CSV)
		return report_csv((const struct results_file *const *)files, count);
	out = open_memstream(&all, &size);
	if (!out)
		return NULL;
	for (unsigned i = 0; whole && i < count; i++) {
		char *one = report_text(files[i], o);

		fprintf(out, "%s%s", i ? "\n" : "", one ? one : "");
		whole = one != NULL;
		free(one);
	}
	if (fclose(out) == 0 && whole)
		return all;
	free(all);
	return NULL;
}

int report_files(FILE *out, enum report_shape shape, const char *const *paths, unsigned count,
		 const struct report_options *o, struct err *err)
{
	struct results_file **files;
	int rc = load_all(&files, paths, count, err);

	if (rc == 0)
		rc = put_text(out, text_of_all(files, count, shape, o), err);
	unload_all(files, count);
	return rc;
}

int report_scaling(FILE *out, enum report_shape shape, const char *const *paths, unsigned count,
		   struct err *err)
{
	struct scaling s = {0};
	struct results_file **files;
	int rc = load_all(&files, paths, count, err);

	if (rc == 0 && !scaling_make(&s, (const struct results_file *const *)files, count))
		rc = err_set(err, -ENOMEM, "no memory for the report");
	if (rc == 0)
		rc = put_text(out, document_text(shape, scaling_write, &s), err);
	scaling_free(&s);
	unload_all(files, count);
	return rc;
}

int report_answers(FILE *out, enum report_shape shape, const char *const *paths, unsigned count,
		   struct err *err)
{
	struct results_file **files;
	int rc = load_all(&files, paths, count, err);
	const struct answered_files all = {(const struct results_file *const *)files, count};

	for (unsigned i = 0; rc == 0 && i < count; i++)
		if (!files[i]->answer.type)
			rc = err_set(err, -EINVAL,
				     "%s: is of a run that had no question to answer: --find, "
				     "--tune and haul assess have one",
				     paths[i]);
		else if (shape == REPORT_CSV && files[i]->answer.type != files[0]->answer.type)
			rc = err_set(err, -EINVAL,
				     "%s: answers another question than %s, and CSV is one table",
				     paths[i], paths[0]);
	if (rc == 0)
		rc = put_text(out, document_text(shape, answers_write, &all), err);
	unload_all(files, count);
	return rc;
}

static int strict_line(const struct results_file *f, const struct series_line *line,
		       struct err *err)
{
	char text[HEADLINE_BYTES];
	struct doubts doubts;

	for (uint32_t i = 0; !line->first->record.alone && i < line->first->target_count; i++) {
		struct target_result t = series_target(line, line->first->targets[i].name);

		if (!t.voided)
			continue;
		target_sentence(text, sizeof(text), &t, "");
		doubts_of_line(&doubts, f, line);
		doubts_say(text, sizeof(text), &doubts, true);
		return err_set(err, -ERANGE, "%s: %s", line->first->record.name, text);
	}
	return 0;
}

int report_strict(const char *path, struct err *err)
{
	struct results_file **files;
	struct series_lines s = {0};
	struct headline h;
	int rc = load_all(&files, &path, 1, err);

	if (rc == 0 && !(headline_of(&h, files[0]) && series_make(&s, files[0])))
		rc = err_set(err, -ENOMEM, "no memory for the report");
	if (rc == 0 && files[0]->answer.type && doubts_void(&h.doubts))
		rc = err_set(err, -ERANGE, "%s", h.text);
	for (uint32_t i = 0; rc == 0 && !files[0]->answer.type && i < s.count; i++)
		rc = strict_line(files[0], &s.lines[i], err);
	series_free_lines(&s);
	unload_all(files, 1);
	return rc;
}

int report_folder(FILE *out, enum report_shape shape, const char *folder, struct err *err)
{
	struct file_list l;
	int rc = file_list_make(&l, folder, err);

	if (rc == 0)
		rc = put_text(out, document_text(shape, file_list_write, &l), err);
	file_list_free(&l);
	return rc;
}

static const char page_mark[] = "<meta name=\"generator\" content=\"haul\">";
static const char svg_mark[] = "<!-- Made by haul: scaling -->";

/* A page or figure of haul, as its mark tells, may be written over; anything else that is there
 * would be lost. */
static int page_refuse(const char *path, const char *mark, struct err *err)
{
	char head[PAGE_HEAD_BYTES + 1] = "";
	bool stands;
	int rc = part_check_place(path, true, "", &stands, err);
	FILE *there = rc == 0 && stands ? fopen(path, "re") : NULL;
	size_t n = there ? fread(head, 1, PAGE_HEAD_BYTES, there) : 0;

	if (there)
		fclose(there);
	if (rc < 0 || !stands || (n && strstr(head, mark)))
		return rc;
	return err_set(
		err, -EEXIST,
		"%s exists and is no page of haul: no page is written over it; name another, or remove it",
		path);
}

static int page_write(const char *path, char *text, struct err *err)
{
	int rc = 0, fd = text ? part_open_place(path, true, "", 0, err) : -1;
	FILE *out = NULL;

	if (text && fd < 0) {
		free(text);
		return fd;
	}
	if (text && !(out = fdopen(fd, "we"))) {
		rc = err_set(err, -errno, "%s cannot be written: %s", path, strerror(errno));
		close(fd);
		free(text);
		return rc;
	}
	rc = put_text(out, text, err);
	if (out && fclose(out) != 0 && rc == 0)
		rc = err_set(err, -errno, "%s cannot be written: %s", path, strerror(errno));
	return rc;
}

/* Whether the files have sides to compare. */
static int page_comparable(const struct results_file *const *files, unsigned count, struct err *err)
{
	struct comparison *c;
	int rc = compare_make(&c, files, count, err);

	compare_free(c);
	return rc;
}

int report_page(const char *path, bool compare, const char *const *paths, unsigned count,
		struct err *err)
{
	struct results_file **files = NULL;
	const struct results_file *const *read;
	int rc = page_refuse(path, page_mark, err);

	if (rc == 0)
		rc = load_all(&files, paths, count, err);
	read = (const struct results_file *const *)files;
	if (rc == 0 && compare)
		rc = page_comparable(read, count, err);
	if (rc == 0)
		rc = page_write(path, report_html(read, count, compare), err);
	unload_all(files, count);
	return rc;
}

int report_scaling_figure(const char *path, const char *const *paths, unsigned count,
			  struct err *err)
{
	struct scaling s = {0};
	struct results_file **files = NULL;
	int rc = page_refuse(path, svg_mark, err);

	if (rc == 0)
		rc = load_all(&files, paths, count, err);
	for (unsigned i = 0; rc == 0 && i < count; i++)
		if (files[i]->answer.type)
			rc = err_set(
				err, -EINVAL,
				"%s: has the answer of a search, which is no figure over nodes; "
				"--html draws it",
				files[i]->path);
	if (rc == 0 && !scaling_make(&s, (const struct results_file *const *)files, count))
		rc = err_set(err, -ENOMEM, "no memory for the report");
	if (rc == 0 && !s.count)
		rc = err_set(err, -EINVAL,
			     "no finished phase has a rate of bytes: there is no figure");
	if (rc == 0)
		rc = page_write(path, scaling_svg(&s), err);
	scaling_free(&s);
	unload_all(files, count);
	return rc;
}

int report_plan_page(const char *path, struct cJSON *plan, struct err *err)
{
	char *text = report_html_plan(plan);
	int rc = page_refuse(path, page_mark, err);

	if (rc == 0)
		return page_write(path, text, err);
	free(text);
	return rc;
}

int report_compare(FILE *out, enum report_shape shape, const char *const *paths, unsigned count,
		   struct err *err)
{
	struct results_file **files;
	struct comparison *c = NULL;
	int rc = load_all(&files, paths, count, err);

	if (rc == 0)
		rc = compare_make(&c, (const struct results_file *const *)files, count, err);
	if (rc == 0)
		rc = put_text(out, document_text(shape, compare_write, c), err);
	compare_free(c);
	unload_all(files, count);
	return rc;
}

int report_accept(FILE *out, enum report_shape shape, const char *rules, const char *const *paths,
		  unsigned count, bool *accepted, struct err *err)
{
	struct accept_rules *r = calloc(1, sizeof(*r));
	struct results_file **files = NULL;
	struct accept a;
	int rc = r ? accept_rules_read(r, rules, err)
		   : err_set(err, -ENOMEM, "no memory for the rules");

	*accepted = false;
	if (rc == 0)
		rc = load_all(&files, paths, count, err);
	if (rc == 0) {
		bool whole = accept_make(&a, r, (const struct results_file *const *)files, count);

		rc = put_text(out, whole ? document_text(shape, accept_write, &a) : NULL, err);
		*accepted = whole && claim_holds(a.claim.state);
		accept_free(&a);
	}
	unload_all(files, count);
	free(r);
	return rc;
}

bool report_color(FILE *out)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(out)) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}
