/* SPDX-License-Identifier: Apache-2.0 */
/* Report of results files: see report.h. */
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/part.h"
#include "report/accept/accept.h"
#include "report/compare.h"
#include "report/file_list.h"
#include "report/scaling.h"
#include "report/scaling_svg.h"

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

	for (unsigned i = 0; rc == 0 && i < count; i++)
		rc = results_load(&files[i], paths[i], err);
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
