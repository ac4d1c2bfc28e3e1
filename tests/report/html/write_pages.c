/* SPDX-License-Identifier: Apache-2.0 */
/* Writes made-up pages into a folder, for tests in a browser: each page NAME.html with the JSON of
 * its phases beside it, NAME.json. write_pages FOLDER [NAME]: all of them, or one */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/shapes.h"
#include "tests/report/html/made_file.h"

static const struct made_shape shapes[] = {
	{.name = "one",
	 .runs = 1,
	 .ranks = 8,
	 .nodes = 2,
	 .epochs = 5,
	 .rows = 60,
	 .hists = true,
	 .failures = true},
	{.name = "phase",
	 .runs = 1,
	 .train_alone = true,
	 .ranks = 1,
	 .nodes = 1,
	 .epochs = 1,
	 .rows = 1,
	 .hists = true},
	{.name = "runs256",
	 .runs = 256,
	 .combinations = 4,
	 .ranks = 4,
	 .nodes = 1,
	 .epochs = 2,
	 .rows = 20,
	 .hists = true},
	{.name = "ranks6144",
	 .runs = 1,
	 .ranks = 6144,
	 .nodes = 512,
	 .epochs = 20,
	 .rows = 500,
	 .hists = true},
	{.name = "nothing",
	 .runs = 1,
	 .ranks = 4,
	 .nodes = 2,
	 .epochs = 3,
	 .rows = 10,
	 .nothing = true},
	{.name = "runs1000",
	 .runs = 1000,
	 .combinations = 2,
	 .ranks = 4,
	 .nodes = 1,
	 .epochs = 2,
	 .rows = 100,
	 .hists = true},
};

static int write_text(const char *folder, const char *name, const char *ending, char *text)
{
	char path[1000];
	FILE *f;
	int bad;

	snprintf(path, sizeof(path), "%s/%s.%s", folder, name, ending);
	f = text ? fopen(path, "w") : NULL;
	if (!f)
		return 1;
	bad = fputs(text, f) < 0;
	free(text);
	return fclose(f) != 0 || bad;
}

static int write_page(const char *folder, const char *name, const struct results_file *const *files,
		      unsigned count)
{
	static const struct report_options options = {.unit_rows = 128};

	return write_text(folder, name, "html", report_html(files, count, false)) ||
	       write_text(folder, name, "json", report_json(files, count, &options));
}

int main(int argc, char **argv)
{
	enum { SHAPES = sizeof(shapes) / sizeof(*shapes) };
	struct results_file *files[SHAPES] = {NULL};
	const char *only = argc == 3 ? argv[2] : NULL;
	int bad = argc != 2 && !only;

	for (unsigned i = 0; !bad && i < SHAPES; i++) {
		if (only && strcmp(only, shapes[i].name) != 0)
			continue;
		files[i] = made_file(&shapes[i]);
		bad = write_page(argv[1], shapes[i].name,
				 (const struct results_file *const *)&files[i], 1);
	}
	if (!bad && !only) {
		const struct results_file *const two[] = {files[0], files[2]};

		bad = write_page(argv[1], "two", two, 2);
	}
	for (unsigned i = 0; i < SHAPES; i++)
		if (files[i])
			made_file_free(files[i]);
	return bad;
}
