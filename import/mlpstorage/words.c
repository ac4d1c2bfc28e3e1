/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a command line: see words.h. */
#include "import/mlpstorage/words.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\n"

/* Moves one word from *from to *to, without its quotes. Returns whether they are all closed. */
static bool words_move(const char **from, char **to)
{
	const char *at = *from;
	char quote = '\0', *end = *to;

	for (; *at && (quote || !strchr(BLANKS, *at)); at++) {
		if (*at == '\\' && quote != '\'' && at[1])
			*end++ = *++at;
		else if (quote && *at == quote)
			quote = '\0';
		else if (!quote && (*at == '"' || *at == '\''))
			quote = *at;
		else
			*end++ = *at;
	}
	*from = at + (*at != '\0');
	*end++ = '\0';
	*to = end;
	return !quote;
}

/* Where the next word begins. A backslash before the end of a line is a blank. */
static const char *words_skip(const char *at)
{
	while ((*at && strchr(BLANKS, *at)) || (at[0] == '\\' && at[1] == '\n'))
		at++;
	return at;
}

static int words_split(struct words *w, const char *given, struct err *err)
{
	const char *at = words_skip(given);
	char *to = w->text = malloc(strlen(given) + 1);

	if (!to)
		return err_set(err, -ENOMEM, "no memory for the words");
	for (; *at; at = words_skip(at)) {
		if (w->count == WORDS_MAX)
			return err_set(err, -EINVAL, "has more than %d words", WORDS_MAX);
		w->list[w->count++] = to;
		if (!words_move(&at, &to))
			return err_set(err, -EINVAL, "a quote is not closed: %.64s",
				       w->list[w->count - 1]);
	}
	return 0;
}

int words_read(struct words *out, const char *const *given, unsigned count, struct err *err)
{
	out->text = NULL;
	out->count = 0;
	if (count == 1)
		return words_split(out, given[0], err);
	if (count > WORDS_MAX)
		return err_set(err, -EINVAL, "has more than %d words", WORDS_MAX);
	for (; out->count < count; out->count++)
		out->list[out->count] = given[out->count];
	return 0;
}

void words_free(struct words *w)
{
	free(w->text);
	w->text = NULL;
}
