/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the parsers of /proc: the first byte selects the parser, and any bytes are its file.
 * Nothing may crash, and the same text must always give the same values. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/client/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(char which, const char *text, size_t length, uint64_t reading[CLIENT_COLUMNS])
{
	const struct client_cores cores = {{5, 1}};
	const struct client_names names = {3, {"eth0", "sda", "a_name_as_long_as_names_can_be_"}};

	char path[16];
	bool old;

	switch (which) {
	case 's':
		client_parse_stat(text, length, 10000000, &cores, reading);
		break;
	case 'm':
		client_parse_meminfo(text, length, reading);
		break;
	case 'v':
		client_parse_vmstat(text, length, 4096, reading);
		break;
	case 'n':
		client_parse_net(text, length, &names, reading);
		break;
	case 'd':
		client_parse_disks(text, length, &names, reading);
		break;
	case 'p':
		client_parse_pressure(text, length, CLIENT_CPU_WAITED_NS, reading);
		break;
	case 't':
		client_parse_throttled(text, length, reading);
		break;
	case 'c':
		client_parse_cgroup(text, length, path, sizeof(path), &old);
		break;
	default:
		client_parse_number(text, length, &reading[0]);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t one[CLIENT_COLUMNS] = {0}, two[CLIENT_COLUMNS] = {0};

	if (!size)
		return 0;
	parse((char)data[0], (const char *)data + 1, size - 1, one);
	parse((char)data[0], (const char *)data + 1, size - 1, two);
	if (memcmp(one, two, sizeof(one)) != 0)
		abort();
	return 0;
}
