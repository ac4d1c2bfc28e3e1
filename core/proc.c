#include "core/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void proc_value(const char *path, const char *key, char *out, size_t bytes)
{
	FILE *f = fopen(path, "re");
	char line[256];

	out[0] = '\0';
	while (f && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');

		if (!colon || strncmp(line, key, strlen(key)) != 0)
			continue;
		colon += 1 + strspn(colon + 1, " \t");
		colon[strcspn(colon, "\n")] = '\0';
		snprintf(out, bytes, "%s", colon);
		break;
	}
	if (f)
		fclose(f);
}

uint64_t proc_memory_bytes(const char *key)
{
	char kib[64];

	proc_value("/proc/meminfo", key, kib, sizeof(kib));
	return strtoull(kib, NULL, 10) << 10;
}
