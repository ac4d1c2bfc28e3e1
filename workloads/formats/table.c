/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/formats/table.h"

#include <stdio.h>
#include <string.h>

#define FORMAT_DECLARE(upper, lower) extern const struct format_ops format_##lower;
FORMATS(FORMAT_DECLARE, FORMAT_DECLARE)

#define FORMAT_NAME(upper, lower) [FORMAT_##upper] = #lower,
const char *const format_names[] = {FORMATS(FORMAT_NAME, FORMAT_NAME) NULL};

#define FORMAT_ADDRESS(upper, lower) [FORMAT_##upper] = &format_##lower,
static const struct format_ops *const formats[] = {FORMATS(FORMAT_ADDRESS, FORMAT_ADDRESS) NULL};

_Static_assert((int)FORMATS_COUNT <= (int)FORMATS_MAX,
	       "struct format_options has room for more formats");

const struct format_ops *const *format_table(void)
{
	return formats;
}

const char *format_extension(uint32_t format)
{
	const char *extension = formats[format]->extension;

	return extension ? extension : format_names[format];
}

const char *format_list(char text[FORMAT_LIST_BYTES], bool (*which)(const struct format_ops *))
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < FORMATS_COUNT; i++) {
		if (!which(formats[i]) || used + strlen(format_names[i]) + 3 > FORMAT_LIST_BYTES)
			continue;
		used += (size_t)sprintf(text + used, "%s%s", used ? ", " : "", format_names[i]);
	}
	return text;
}
