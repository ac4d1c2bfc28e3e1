/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of store URIs: schemes, refusals, and placeholders. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/uri.h"
#include "tests/unit.h"

static void schemes(void)
{
	static const char *const cases[][2] = {
		{"file:///lustre/ckpt", "file"},
		{"s3://train/unet3d", "s3"},
		{"null://", "null"},
		{"a+b.c-1://x", "a+b.c-1"},
		{"mem://{rank}", "mem"},
		{"file:///a?b#c", "file"},
		{"daos://p/c/a#1", "daos"},
	};
	char scheme[URI_SCHEME_BYTES];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CU_ASSERT_EQUAL(uri_scheme(cases[i][0], scheme, NULL), 0);
		CU_ASSERT_STRING_EQUAL(scheme, cases[i][1]);
	}
}

static void no_uris(void)
{
	static const char *const cases[][2] = {
		{"s3:/bucket", "\"s3:/bucket\" is not a URI; write it as s3://bucket"},
		{"s3:bucket/prefix",
		 "\"s3:bucket/prefix\" is not a URI; write it as s3://bucket/prefix"},
		{"s3:", "\"s3:\" is not a URI; write it as s3://bucket/prefix"},
		{"file:/tmp/x", "\"file:/tmp/x\" is not a URI; write it as file:///tmp/x"},
		{"/tmp/x", "\"/tmp/x\" is not a URI; write it as file:///tmp/x"},
		{"", "\"\" is not a URI; write it as scheme://place, as in file:///scratch/train"},
		{"data",
		 "\"data\" is not a URI; write it as scheme://place, as in file:///scratch/train"},
		{"://x",
		 "\"://x\" is not a URI; write it as scheme://place, as in file:///scratch/train"},
		{"FILE:///x",
		 "\"FILE:///x\" is not a URI; write it as scheme://place, as in file:///scratch/train"},
		{"file:///a\nb", "\"file:///a\\nb\" is not a URI: it holds control characters"},
		{"s3:b?sig=SECRET",
		 "a text with \"?\" is not a URI; write it as scheme://place, as in file:///scratch/train"},
		{"s3://b/x?X-Amz-Signature=SECRET",
		 "a URI of an object store has no query and no fragment: leave out all from \"?\" or \"#\" on (what is signed there is a secret)"},
		{"az://account/container/p#part",
		 "a URI of an object store has no query and no fragment: leave out all from \"?\" or \"#\" on (what is signed there is a secret)"},
		{"averyveryverylongscheme://x",
		 "\"averyveryverylongscheme://x\" is not a URI: its scheme is longer than 15 characters"},
	};
	char scheme[URI_SCHEME_BYTES];
	struct err err;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CU_ASSERT_EQUAL(uri_scheme(cases[i][0], scheme, &err), -EINVAL);
		if (strcmp(err.text, cases[i][1])) {
			fprintf(stderr, "found:    %s\nexpected: %s\n", err.text, cases[i][1]);
			CU_FAIL("a different sentence");
		}
	}
}

static void expands(void)
{
	static const char *const cases[][2] = {
		{"file:///a", "file:///a"},
		{"file:///a/{rank}", "file:///a/12"},
		{"file:///{node}/{local_rank}x{rank}", "file:///3/4x12"},
		{"file:///${HAUL_TEST_PLACE}/b", "file:///scratch/{rank}/b"},
		{"file:///$HOME/}", "file:///$HOME/}"},
		{"file:///${HAUL_TEST_EMPTY}x", "file:///x"},
	};
	const struct rank_place place = {.rank = 12, .node = 3, .local_rank = 4};
	char out[URI_BYTES];
	size_t i;

	setenv("HAUL_TEST_PLACE", "scratch/{rank}", 1);
	setenv("HAUL_TEST_EMPTY", "", 1);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CU_ASSERT_EQUAL(uri_expand(cases[i][0], &place, out, NULL), 0);
		CU_ASSERT_STRING_EQUAL(out, cases[i][1]);
	}
	CU_ASSERT_EQUAL(uri_expand("x://{rank}{node}", NULL, out, NULL), 0);
	CU_ASSERT_STRING_EQUAL(out, "x://{rank}{node}");
}

static void does_not_expand(void)
{
	static const char *const cases[][2] = {
		{"file:///{foo}",
		 "unknown placeholder {foo}; known are {rank}, {node}, {local_rank} and ${VARIABLE}"},
		{"file:///{}",
		 "unknown placeholder {}; known are {rank}, {node}, {local_rank} and ${VARIABLE}"},
		{"file:///{rank", "\"{rank\" has no closing brace"},
		{"file:///${HOME", "\"${HOME\" has no closing brace"},
		{"file:///${HAUL_TEST_UNSET}", "${HAUL_TEST_UNSET} is not set in the environment"},
		{"file:///${}", "\"\" is not the name of a variable"},
		{"file:///${A B}", "\"A B\" is not the name of a variable"},
		{"file:///${1A}", "\"1A\" is not the name of a variable"},
		{"file:///${HAUL_TEST_LONG}",
		 "a URI must be shorter than 1024 bytes when expanded"},
	};
	char out[URI_BYTES], longest[URI_BYTES];
	struct err err;
	size_t i;

	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	setenv("HAUL_TEST_LONG", longest, 1);
	unsetenv("HAUL_TEST_UNSET");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CU_ASSERT_EQUAL(uri_expand(cases[i][0], NULL, out, &err), -EINVAL);
		if (strcmp(err.text, cases[i][1])) {
			fprintf(stderr, "found:    %s\nexpected: %s\n", err.text, cases[i][1]);
			CU_FAIL("a different sentence");
		}
	}
}

static void per_rank(void)
{
	static const struct {
		const char *uri;
		bool own;
	} cases[] = {
		{"file:///scratch/{rank}", true},
		{"mem://x{local_rank}", true},
		{"s3://b/${USER}/{node}/{rank}/x", true},
		{"file:///scratch/{node}", false},
		{"file:///scratch/${rank}/rank}", false},
		{"file:///scratch/${local_rank}", false},
		{"s3://bucket/rank", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CU_ASSERT_EQUAL(uri_per_rank(cases[i].uri), cases[i].own);
}

int main(void)
{
	CU_TestInfo tests[] = {{"schemes", schemes},
			       {"what is not a URI", no_uris},
			       {"expands", expands},
			       {"does not expand", does_not_expand},
			       {"a URI for each rank", per_rank},
			       CU_TEST_INFO_NULL};

	return unit_main("uri", tests);
}
