/* Judges results files: for each path on standard input, a line with the verdict about the first phase of its first two sides (1:
 * the first is faster, -1: the second is, 0: neither is shown to be), and whether their repeats were compared in pairs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/compare.h"

static int judge(const char *path, struct comparison *c, struct err *err)
{
	struct results_file *f = NULL;
	const struct compare_pair *pair;
	int rc = results_load(&f, path, err);

	if (rc == 0)
		rc = compare_make(c, (const struct results_file *const[]){f}, 1, err);
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
	struct comparison *c = calloc(1, sizeof(*c));
	struct err err = {0};
	char path[1000];
	int rc = c ? 0 : -1;

	while (rc == 0 && fgets(path, sizeof(path), stdin)) {
		path[strcspn(path, "\n")] = '\0';
		rc = judge(path, c, &err);
		memset(c, 0, sizeof(*c));
	}
	if (rc < 0)
		fprintf(stderr, "%s\n", err.text);
	free(c);
	return rc < 0;
}
