/* SPDX-License-Identifier: Apache-2.0 */
#include "core/owner_text.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/part.h"
#include "core/time_ns.h"

enum { BOOT_BYTES = 37 };

size_t owner_text_line(char line[OWNER_TEXT_BYTES])
{
	char host[65] = "";
	time_t now = (time_t)(clock_utc_ns() / NS_PER_S);
	struct tm tm;
	size_t n;

	if (gethostname(host, sizeof(host) - 1) < 0 || !host[0])
		snprintf(host, sizeof(host), "unknown");
	gmtime_r(&now, &tm);
	n = (size_t)snprintf(line, OWNER_TEXT_BYTES, "host %.64s, process %d, since ", host,
			     (int)getpid());
	return n + strftime(line + n, OWNER_TEXT_BYTES - n, "%Y-%m-%d %H:%M:%S UTC\n", &tm);
}

/* The machine since it was started, and which processes of it see each other's numbers. */
static uint64_t owner_machine(char boot[BOOT_BYTES])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, boot, BOOT_BYTES - 1);
	struct stat st;

	if (fd >= 0)
		close(fd);
	boot[n == BOOT_BYTES - 1 ? n : 0] = '\0';
	return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* When the process was started, in ticks since the machine was. False: it has ended, though who
 * started it may not have asked how yet. See proc_pid_stat(5). */
static bool owner_process(int pid, uint64_t *started)
{
	char path[32], text[1024], state = 'Z', *end;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	end = strrchr(text, ')'); /* of the name of the program */
	return end &&
	       sscanf(end,
		      ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
		      "%*d %" SCNu64,
		      &state, started) == 2 &&
	       state != 'Z' && state != 'X';
}

void owner_text(char text[OWNER_OBJECT_BYTES])
{
	char line[OWNER_TEXT_BYTES], boot[BOOT_BYTES];
	uint64_t space = owner_machine(boot), started = 0;
	int n;

	owner_process((int)getpid(), &started);

	owner_text_line(line);
	n = snprintf(text, OWNER_OBJECT_BYTES, "%slease %08x%08x %s %" PRIu64 " %d %" PRIu64 "\n",
		     line, part_draw(), part_draw(), boot[0] ? boot : "-", space, (int)getpid(),
		     started);
	memset(text + n, ' ', OWNER_OBJECT_BYTES - (size_t)n);
}

void owner_text_who(char who[OWNER_TEXT_BYTES], const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && i < OWNER_TEXT_BYTES - 1 && text[i] >= ' ' && text[i] <= '~') {
		who[i] = text[i];
		i++;
	}
	who[i] = '\0';
	if (!i)
		snprintf(who, OWNER_TEXT_BYTES, "another process");
}

bool owner_text_is(const char *text, size_t n)
{
	char line[OWNER_TEXT_BYTES], year[5];
	int pid;

	n = n < sizeof(line) - 1 ? n : sizeof(line) - 1;
	memcpy(line, text, n);
	line[n] = '\0';
	return sscanf(line, "host %*[^,\n], process %9d, since %4[0-9]-", &pid, year) == 2;
}

bool owner_text_ended(const char *text, size_t n)
{
	char own[BOOT_BYTES], boot[BOOT_BYTES], copy[OWNER_OBJECT_BYTES + 1];
	uint64_t space, started, own_space = owner_machine(own), now;
	const char *line;
	int pid;

	n = n < OWNER_OBJECT_BYTES ? n : OWNER_OBJECT_BYTES;
	memcpy(copy, text, n);
	copy[n] = '\0';
	line = strchr(copy, '\n');
	if (!line || !own[0] || !own_space ||
	    sscanf(line, "\nlease %*16[0-9a-f] %36[0-9a-f-] %20" SCNu64 " %9d %20" SCNu64 "\n",
		   boot, &space, &pid, &started) != 4)
		return false;
	return strcmp(boot, own) == 0 && space == own_space && pid > 0 &&
	       (!owner_process(pid, &now) || now != started);
}
