/* SPDX-License-Identifier: Apache-2.0 */
/* Fixture for phases "io": see io_fixture.h. */
#include "tests/workloads/io/io_fixture.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit.h"

static char job[2048];

struct fixture *io_run(const char *store, const char *common, const char *const *phases,
		       unsigned count, uint32_t ranks,
		       void (*between)(struct fixture *, struct group *, struct group *))
{
	struct fixture *f;
	size_t n = (size_t)snprintf(job, sizeof(job),
				    "{\"stores\": {\"s\": {\"uri\": %s}}, \"phases\": [", store);

	for (unsigned i = 0; i < count; i++)
		n += (size_t)snprintf(job + n, sizeof(job) - n, "%s{\"io\": {%s%s%s}}",
				      i ? ", " : "", common, *common ? ", " : "", phases[i]);
	snprintf(job + n, sizeof(job) - n, "]}");
	f = fixture_new(job);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	if (f) {
		f->between = between;
		fixture_run(f, ranks);
	}
	return f;
}

void io_expect_ok(const struct fixture *f)
{
	for (uint32_t r = 0; r < f->ranks; r++) {
		CU_ASSERT_EQUAL(f->rc[r], 0);
		if (f->rc[r] && r == 0)
			fprintf(stderr, "\n%s\n%s\n", job, f->err[r].text);
	}
}

void io_expect_refused(const struct fixture *f, int rc, const char *says)
{
	CU_ASSERT_EQUAL(f->rc[0], rc);
	CU_ASSERT_PTR_NOT_NULL(strstr(f->err[0].text, says));
	if (!strstr(f->err[0].text, says))
		fprintf(stderr, "\n%s\nsays: %s\n", job, f->err[0].text);
}
