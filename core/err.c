/* SPDX-License-Identifier: Apache-2.0 */
/* struct err: see err.h. */
#include "core/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int(err_set)(struct err *e, int rc, const char *format, ...)
{
	va_list args;

	if (!e)
		return rc;
	e->code = rc;
	va_start(args, format);
	vsnprintf(e->text, sizeof(e->text), format, args);
	va_end(args);
	return rc;
}

int(err_wrap)(struct err *e, int rc, const char *format, ...)
{
	char inner[ERR_TEXT_BYTES];
	size_t at, room;
	va_list args;
	int n;

	if (!e)
		return rc;
	/* The old text moves behind the new words, so it is copied first. */
	if (e->code && e->text[0])
		memcpy(inner, e->text, sizeof(inner));
	else
		snprintf(inner, sizeof(inner), "%s", strerror(rc < 0 ? -rc : rc));
	inner[sizeof(inner) - 1] = '\0';
	e->code = rc;
	va_start(args, format);
	n = vsnprintf(e->text, sizeof(e->text), format, args);
	va_end(args);
	at = n < 0 ? 0 : (size_t)n;
	if (at + 3 > sizeof(e->text))
		return rc;
	room = sizeof(e->text) - at - 3;
	n = (int)strnlen(inner, room);
	memcpy(e->text + at, ": ", 2);
	memcpy(e->text + at + 2, inner, (size_t)n);
	e->text[at + 2 + (size_t)n] = '\0';
	return rc;
}
