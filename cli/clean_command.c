/* SPDX-License-Identifier: Apache-2.0 */
/* The command that removes what a run has made: see clean_command.h. */
#include "cli/clean_command.h"

#include <string.h>

/* Characters that no shell takes for more than themselves. */
static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			    "%+,-./:=@_";

static bool command_put(char text[CLEAN_COMMAND_BYTES], size_t *used, const char *piece,
			size_t length)
{
	if (length >= CLEAN_COMMAND_BYTES - *used)
		return false;
	memcpy(text + *used, piece, length);
	*used += length;
	text[*used] = '\0';
	return true;
}

/* Adds a word, in single quotes where it needs them; a quote in it stands between two such pieces. */
static bool command_word(char text[CLEAN_COMMAND_BYTES], size_t *used, const char *word)
{
	bool quoted = !*word || word[strspn(word, plain)], fits = true;

	if (*used)
		fits = command_put(text, used, " ", 1);
	if (!quoted)
		return fits && command_put(text, used, word, strlen(word));
	fits = fits && command_put(text, used, "'", 1);
	for (; *word && fits; word++)
		fits = *word == '\'' ? command_put(text, used, "'\\''", 4)
				     : command_put(text, used, word, 1);
	return fits && command_put(text, used, "'", 1);
}

const char *clean_command_of_job(char text[CLEAN_COMMAND_BYTES], const char *job,
				 const struct word_list *sets)
{
	size_t used = 0;
	bool fits = command_word(text, &used, "haul") && command_word(text, &used, "clean") &&
		    command_word(text, &used, job);

	for (unsigned i = 0; i < sets->count && fits; i++)
		fits = command_word(text, &used, "--set") &&
		       command_word(text, &used, sets->items[i]);
	return fits ? text : NULL;
}

const char *clean_command_of_replay(char text[CLEAN_COMMAND_BYTES], const struct call *call)
{
	size_t used = 0;
	bool fits = command_word(text, &used, "haul");

	for (int i = 1; i < call->argc && fits; i++)
		fits = command_word(text, &used, call->argv[i]);
	return fits && command_word(text, &used, "--clean") ? text : NULL;
}
