/* SPDX-License-Identifier: Apache-2.0 */
/* Judges results files: for each path on standard input, a line with the verdict about the first
 * phase of its first two sides (1: the first is faster, -1: the second is, 0: neither is shown to
 * be), and whether their repeats were compared in pairs. */
#include <stdio.h>
#include <string.h>

#include "report/compare.h"

static int judge(const char *path, struct err *err)
{
	struct results_file *f = NULL;
	const struct compare_pair *pair;
	struct comparison *c = NULL;
	int rc = results_load(&f, path, err);

	if (rc == 0)
		rc = compare_make(&c, (const struct results_file *const[]){f}, 1, err);
	if (rc == 0) {
		pair = &c->phases[0].pairs[0];
		printf("%d %d %d\n", pair->ratios[COMPARE_BYTES].verdict,
		       pair->ratios[COMPARE_BYTES].paired, pair->judged);
		fflush(stdout);
	}
	compare_free(c);
	results_unload(f);
	return rc;
}

int main(void)
{
	struct err err = {0};
	char path[1000];
	int rc = 0;

	while (rc == 0 && fgets(path, sizeof(path), stdin)) {
		path[strcspn(path, "\n")] = '\0';
		rc = judge(path, &err);
	}
	if (rc < 0)
		fprintf(stderr, "%s\n", err.text);
	return rc < 0;
}
