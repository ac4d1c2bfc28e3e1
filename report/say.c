/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences of several parts: see say.h. */
#include "report/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void say(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + used, size - used, format, arguments);
	va_end(arguments);
}
