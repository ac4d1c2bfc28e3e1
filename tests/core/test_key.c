/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of keys from outside: a key below the store's root is accepted, and a key that would leave
 * it is refused. */
#include "core/key.h"

#include <errno.h>
#include <string.h>

#include "tests/unit.h"

static const struct {
	const char *text;
	bool path, folder, prefix; /* accepted */
	bool name;                 /* accepted as a name of a list */
} cases[] = {
	/* text, path, folder, prefix, name */
	{"", false, true, true, true},
	{"a", true, true, true, true},
	{"train/a", true, true, false, true},
	{"a b/c\xc3\xa9", true, true, false, true},
	{"...", true, true, false, true},
	{"..a/b..", true, true, false, true},
	{".hidden", true, true, false, true},
	{"a/.b", true, true, false, true},
	{".", false, false, false, false},
	{"..", false, false, false, false},
	{"../out", false, false, false, false},
	{"a/../b", false, false, false, false},
	{"a/..", false, false, false, false},
	{"a/.", false, false, false, false},
	{"a/./b", false, false, false, false},
	{"./../a", false, false, false, false},
	{"/../a", false, false, false, false},
	{"/etc/passwd", false, false, false, true}, /* the first "/" is dropped */
	{"./a/b", false, false, false, true},
	{"././a", false, false, false, true},
	{"a//b", false, false, false, true}, /* a key of an object store */
	{"a/", false, false, false, true},
	{"/", false, false, false, true},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static void test_texts(void)
{
	for (size_t i = 0; i < CASES; i++) {
		struct err err = {0};

		CU_ASSERT_EQUAL(key_check(cases[i].text, &err), cases[i].path ? 0 : -EINVAL);
		if (!cases[i].path)
			CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "must be a plain path"));
		CU_ASSERT_EQUAL(key_check_folder(cases[i].text, &err),
				cases[i].folder ? 0 : -EINVAL);
		CU_ASSERT_EQUAL(key_check_prefix(cases[i].text, &err),
				cases[i].prefix ? 0 : -EINVAL);
	}
}

/* The text comes in two pieces, cut anywhere, and one byte at a time, with and without a carriage
 * return at its end. */
static void test_pieces(void)
{
	struct key_scan k = {0};
	char text[32];

	for (size_t i = 0; i < CASES; i++) {
		for (size_t cr = 0; cr < 2; cr++) {
			size_t n = strlen(cases[i].text) + cr;

			strcpy(text, cases[i].text);
			strcat(text, cr ? "\r" : "");
			for (size_t cut = 0; cut <= n; cut++) {
				key_scan_add(&k, text, cut);
				key_scan_add(&k, text + cut, n - cut);
				CU_ASSERT_EQUAL(key_scan_leaves(&k, cr), !cases[i].name);
			}
			for (size_t at = 0; at < n; at++)
				key_scan_add(&k, text + at, 1);
			CU_ASSERT_EQUAL(key_scan_leaves(&k, cr), !cases[i].name);
		}
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"texts", test_texts},
		{"names in pieces", test_pieces},
		CU_TEST_INFO_NULL,
	};

	return unit_main("key", tests);
}
