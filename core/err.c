/* struct err: see err.h. */
#include "core/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, int rc, const char *format, ...)
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

int err_wrap(struct err *e, int rc, const char *format, ...)
{
	char inner[ERR_TEXT_BYTES];
	va_list args;
	int n;

	if (!e)
		return rc;
	/* The arguments may point into e->text, and what it says moves: both from a copy. */
	if (e->code && e->text[0])
		memcpy(inner, e->text, sizeof(inner));
	else
		snprintf(inner, sizeof(inner), "%s", strerror(rc < 0 ? -rc : rc));
	inner[sizeof(inner) - 1] = '\0';
	e->code = rc;
	va_start(args, format);
	n = vsnprintf(e->text, sizeof(e->text), format, args);
	va_end(args);
	if (n >= 0 && n < (int)sizeof(e->text))
		snprintf(e->text + n, sizeof(e->text) - (size_t)n, ": %s", inner);
	return rc;
}
