/* SPDX-License-Identifier: Apache-2.0 */
/* Test of one more column: tests/report/CMakeLists.txt adds one row to the columns of the scaling
 * table, one to those of a comparison, one to those of a phase and one to those of an answer, and nothing else. Text, JSON and
 * CSV have it, and so has the page. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/accept/accept.h"
#include "report/answer.h"
#include "report/compare.h"
#include "report/scaling.h"
#include "report/shapes.h"
#include "tests/report/html/made_file.h"
#include "tests/unit.h"

static const struct made_shape shape = {.name = "made.h5",
					.runs = 2,
					.combinations = 2,
					.ranks = 4,
					.nodes = 2,
					.epochs = 1,
					.rows = 4};

static void expect_all(document_writer *write, const void *about, const char *json, const char *csv)
{
	const char *const wanted[] = {
		[REPORT_TEXT] = "one more", [REPORT_JSON] = json, [REPORT_CSV] = csv};

	for (int i = REPORT_TEXT; i <= REPORT_CSV; i++) {
		char *text = document_text((enum report_shape)i, write, about);

		CU_ASSERT_PTR_NOT_NULL_FATAL(text);
		CU_ASSERT_PTR_NOT_NULL(strstr(text, wanted[i]));
		free(text);
	}
}

static void test_scaling(void)
{
	struct results_file *f = made_file(&shape);
	const struct results_file *const files[] = {f};
	struct scaling s;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_TRUE_FATAL(scaling_make(&s, files, 1) && s.count);
	expect_all(scaling_write, &s, "\"one_more\": 4", "one_more,file,");
	scaling_free(&s);
	made_file_free(f);
}

static void test_compare(void)
{
	struct comparison *c;
	struct results_file *f = made_file(&shape);
	const struct results_file *const files[] = {f};
	struct err err = {0};

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL_FATAL(compare_make(&c, files, 1, &err), 0);
	expect_all(compare_write, c, "\"one_more\": ", ",metrics.one_more\n");
	compare_free(c);
	made_file_free(f);
}

static void expect_in(char *text, const char *wanted)
{
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, wanted));
	free(text);
}

static void test_phase(void)
{
	static const struct report_options options = {0};
	struct results_file *f = made_file(&shape);
	const struct results_file *const files[] = {f};

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	expect_in(report_text(f, &options), "   one more");
	expect_in(report_json(files, 1, &options), "\"one_more\": 1");
	expect_in(report_csv(files, 1), ",one_more,");
	expect_in(report_html(files, 1, false), "\"one_more\":1");
	/* The page is told that its table of phases has the column, and shows what it is told. */
	expect_in(report_html(files, 1, false),
		  "{\"path\":\"one_more\",\"heading\":\"one more\",\"kind\":\"count\"}");
	made_file_free(f);
}

/* A criterion is read from a file of rules, judged, and said. */
static void test_accept(void)
{
	static const char rules[] = "{\"rules\": [{\"phase\": \"train\", \"least_one_more\": 5}]}";
	char path[] = "/tmp/haul-one-more-XXXXXX";
	struct results_file *f = made_file(&shape);
	const struct results_file *const files[] = {f};
	struct accept_rules *r = calloc(1, sizeof(*r));
	struct err err = {0};
	struct accept a;
	int fd = mkstemp(path);

	CU_ASSERT_FATAL(f && r && fd >= 0);
	CU_ASSERT_EQUAL(write(fd, rules, strlen(rules)), (ssize_t)strlen(rules));
	close(fd);
	CU_ASSERT_EQUAL_FATAL(accept_rules_read(r, path, &err), 0);
	unlink(path);
	CU_ASSERT_FATAL(accept_make(&a, r, files, 1));
	expect_in(document_text(REPORT_TEXT, accept_write, &a), "one more");
	expect_in(document_text(REPORT_JSON, accept_write, &a),
		  "\"criterion\": \"least_one_more\"");
	accept_free(&a);
	made_file_free(f);
	free(r);
}

/* An answer to a run's question, of which a row is a value that was tried. */
static void test_answer(void)
{
	static const struct report_options options = {0};
	struct results_file *f = made_file(&shape);
	const struct results_file *const files[] = {f};
	const struct answered_files all = {files, 1};
	struct answered a;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL_FATAL(answer_make(&a, ANSWER_FIND, 1), 0);
	answer_join(&a);
	((struct find_row *)a.rows)->one_more = 4711;
	f->answer = a;
	expect_all(answers_write, &all, "\"one_more\": 4711", ".one_more,");
	expect_in(document_text(REPORT_CSV, answers_write, &all), ",4711,");
	expect_in(report_text(f, &options), "one more");
	expect_in(report_json(files, 1, &options), "\"one_more\": 4711");
	expect_in(report_html(files, 1, false), "\"one_more\":4711");
	f->answer = (struct answered){0};
	answer_free(&a);
	made_file_free(f);
}

int main(void)
{
	const CU_TestInfo tests[] = {
		{"a column more of the scaling table", test_scaling},
		{"a column more of a comparison", test_compare},
		{"a column more of a phase", test_phase},
		{"a figure more of an answer", test_answer},
		{"a criterion more of an acceptance", test_accept},
		CU_TEST_INFO_NULL,
	};

	return unit_main("one more column", tests);
}
