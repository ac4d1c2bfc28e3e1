/* SPDX-License-Identifier: Apache-2.0 */
/* Text on the terminal: see cli.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "core/numbers.h"
#include "core/utf8.h"
#include "ranks/run/run.h"

/* The launchers tell a rank before MPI_Init, each in its own variable; NULL: there is none. Only a
 * hint, for sentences. */
static const char *launched_rank(void)
{
	static const char *const variables[] = {"PMI_RANK", "PMIX_RANK", "PALS_RANKID",
						"OMPI_COMM_WORLD_RANK"};
	const char *rank = NULL;

	for (unsigned i = 0; !rank && i < COUNT(variables); i++)
		rank = getenv(variables[i]);
	return rank;
}

bool cli_launched(void)
{
	return launched_rank() != NULL;
}

bool cli_speaks(void)
{
	const char *rank = launched_rank();

	return !rank || strcmp(rank, "0") == 0;
}

uint32_t cli_ranks(void)
{
	static const char *const variables[] = {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE",
						"SLURM_STEP_NUM_TASKS"};
	const char *told = NULL;
	unsigned long ranks;

	for (unsigned i = 0; cli_launched() && !told && i < COUNT(variables); i++)
		told = getenv(variables[i]);
	ranks = told ? strtoul(told, NULL, 10) : 0;
	return ranks && ranks <= UINT32_MAX ? (uint32_t)ranks : 1;
}

void cli_say(const char *format, ...)
{
	va_list args;

	if (!cli_speaks())
		return;
	fputs("haul: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static unsigned cli_columns(const char *text)
{
	return utf8_columns(text, UTF8_WHOLE);
}

static void put_blanks(const char *text, unsigned columns)
{
	for (unsigned n = cli_columns(text); n < columns; n++)
		putchar(' ');
}

void cli_pad(const char *text, unsigned columns)
{
	fputs(text, stdout);
	put_blanks(text, columns);
}

void cli_pad_left(const char *text, unsigned columns)
{
	put_blanks(text, columns);
	fputs(text, stdout);
}

int cli_ended(int rc, const struct err *err)
{
	if (rc == 0)
		return EXIT_DONE;
	cli_say("%s", err->text);
	return rc == -ENOENT || rc == -EINVAL || rc == -EACCES || rc == -EISDIR || rc == -EEXIST
		       ? EXIT_USAGE
		       : EXIT_FAILED;
}

int cli_print(char *text)
{
	size_t length;

	if (!text) {
		cli_say("no memory for the text");
		return 1;
	}
	length = strlen(text);
	fputs(text, stdout);
	if (length && text[length - 1] != '\n')
		putchar('\n');
	free(text);
	return 0;
}

enum { CLI_COLUMNS = 80 };

/* The number of bytes of text that fit into columns. Cuts at a blank where there is one. */
static size_t line_fits(const char *text, unsigned columns)
{
	size_t at = utf8_fit(text, UTF8_WHOLE, columns), blank = at;

	if (!text[at] || text[at] == ' ')
		return at;
	while (blank && text[blank] != ' ')
		blank--;
	return blank ? blank : at;
}

void cli_row(const char *left, unsigned column, const char *text)
{
	size_t used;

	cli_pad(left, column);
	/* Leaves at least two blanks between them. */
	if (cli_columns(left) + 2 > column) {
		printf("\n");
		cli_pad("", column);
	}
	for (;;) {
		used = line_fits(text, CLI_COLUMNS - column);
		printf("%.*s\n", (int)used, text);
		text += used + (text[used] == ' ');
		if (!*text)
			return;
		cli_pad("", column);
	}
}
