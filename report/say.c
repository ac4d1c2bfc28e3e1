/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences of several parts: see say.h. */
#include "report/say.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/ratio.h"

void say(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + used, size - used, format, arguments);
	va_end(arguments);
}

int say_decimals(double factor)
{
	double beyond = fabs(factor - 1);
	int n = beyond > 0 ? 1 - (int)floor(log10(beyond)) : 2;

	return factor >= 100 ? 0 : n < 2 ? 2 : n > 5 ? 5 : n;
}

void say_times(char *text, size_t size, double times)
{
	say(text, size, "%.*f", say_decimals(times), times);
}

void say_range(char *text, size_t size, double times, double low, double high)
{
	int places = say_decimals(times);

	if (low < RATIO_VAGUE_LEAST && high > RATIO_VAGUE_MOST)
		say(text, size, " (%g to %g, or wider: too few repeats)", RATIO_VAGUE_LEAST,
		    RATIO_VAGUE_MOST);
	else if (isfinite(low) && isfinite(high))
		say(text, size, " (%.*f to %.*f)", places, low, places, high);
}
