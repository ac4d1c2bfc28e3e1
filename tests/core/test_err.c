/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of error sentences: set, wrap, and truncation of long ones. */
#include <errno.h>
#include <string.h>

#include "core/err.h"
#include "tests/unit.h"

static void set_and_wrap(void)
{
	struct err e = {0};

	CU_ASSERT_EQUAL(err_set(&e, -EINVAL, "must be %d", 4), -EINVAL);
	CU_ASSERT_EQUAL(err_wrap(&e, -EIO, "/a/%s", "b"), -EIO);
	CU_ASSERT_EQUAL(e.code, -EIO);
	CU_ASSERT_STRING_EQUAL(e.text, "/a/b: must be 4");
}

static void wrap_of_nothing_says_errno(void)
{
	struct err e = {0};

	err_wrap(&e, -ENOENT, "job.json");
	CU_ASSERT_STRING_EQUAL(e.text, "job.json: No such file or directory");
}

static void no_err_is_allowed(void)
{
	CU_ASSERT_EQUAL(err_set(NULL, -EINVAL, "x"), -EINVAL);
	CU_ASSERT_EQUAL(err_wrap(NULL, -EINVAL, "x"), -EINVAL);
}

static void long_sentences_are_cut(void)
{
	char text[3 * ERR_TEXT_BYTES];
	struct err e;
	int i;

	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	err_set(&e, -EINVAL, "%s", text);
	CU_ASSERT_EQUAL(strlen(e.text), ERR_TEXT_BYTES - 1);
	for (i = 0; i < 3; i++)
		err_wrap(&e, -EINVAL, "front");
	CU_ASSERT_EQUAL(strlen(e.text), ERR_TEXT_BYTES - 1);
	CU_ASSERT_NSTRING_EQUAL(e.text, "front: front: front: aaa", 24);
	err_wrap(&e, -EINVAL, "%s", text);
	CU_ASSERT_EQUAL(strlen(e.text), ERR_TEXT_BYTES - 1);
}

int main(void)
{
	CU_TestInfo tests[] = {{"set and wrap", set_and_wrap},
			       {"wrap of nothing says the errno", wrap_of_nothing_says_errno},
			       {"NULL is allowed", no_err_is_allowed},
			       {"long sentences are cut", long_sentences_are_cut},
			       CU_TEST_INFO_NULL};

	return unit_main("err", tests);
}
