/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/wire/date.h"

#include <stddef.h>
#include <time.h>

/* haul never calls setlocale, so names of days and months are English. */
static void date_print(char *out, size_t size, const char *format, int64_t seconds)
{
	time_t t = (time_t)seconds;
	struct tm tm = {0};

	gmtime_r(&t, &tm);
	if (strftime(out, size, format, &tm) == 0)
		out[0] = '\0';
}

void date_basic(char out[DATE_BASIC_BYTES], int64_t seconds)
{
	date_print(out, DATE_BASIC_BYTES, "%Y%m%dT%H%M%SZ", seconds);
}

void date_http(char out[DATE_HTTP_BYTES], int64_t seconds)
{
	date_print(out, DATE_HTTP_BYTES, "%a, %d %b %Y %H:%M:%S GMT", seconds);
}

int64_t date_parse(const char *s)
{
	struct tm tm = {0};

	if (!strptime(s, "%a, %d %b %Y %H:%M:%S", &tm)) {
		tm = (struct tm){0};
		if (!strptime(s, "%Y-%m-%dT%H:%M:%S", &tm))
			return -1;
	}
	return tm.tm_year < 70 ? -1 : (int64_t)timegm(&tm);
}
