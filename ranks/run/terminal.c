/* Terminal above a launcher: see terminal.h. */
#include "ranks/run/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { TERMINAL_ANCESTORS = 6, TERMINAL_NAME_BYTES = 64 };

/* /proc/PID/stat holds "pid (name) state parent …". The name may contain anything, also
 * brackets. */
static bool process_of(pid_t pid, char name[TERMINAL_NAME_BYTES], pid_t *parent)
{
	char path[64], text[512], *open, *close;
	size_t bytes;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return false;
	bytes = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[bytes] = '\0';
	open = strchr(text, '(');
	close = strrchr(text, ')');
	if (!open || !close || close < open || strlen(close) < 5)
		return false;
	snprintf(name, TERMINAL_NAME_BYTES, "%.*s", (int)(close - open - 1), open + 1);
	*parent = (pid_t)strtol(close + 4, NULL, 10);
	return *parent > 0;
}

static bool is_launcher(const char *name)
{
	static const char *const launchers[] = {"mpiexec", "mpirun", "hydra_", "srun",
						"prterun", "aprun",  "jsrun"};

	for (unsigned i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (strncmp(name, launchers[i], strlen(launchers[i])) == 0)
			return true;
	return false;
}

static bool has_terminal(pid_t pid)
{
	char path[64], target[128];
	ssize_t bytes;

	snprintf(path, sizeof(path), "/proc/%d/fd/2", (int)pid);
	bytes = readlink(path, target, sizeof(target) - 1);
	if (bytes < 0)
		return false;
	target[bytes] = '\0';
	return strncmp(target, "/dev/pts/", 9) == 0 || strncmp(target, "/dev/tty", 8) == 0;
}

bool terminal_watched(int fd)
{
	char name[TERMINAL_NAME_BYTES];
	pid_t pid = getppid(), parent;

	if (isatty(fd))
		return true;
	for (int i = 0; i < TERMINAL_ANCESTORS && pid > 1; i++, pid = parent) {
		if (!process_of(pid, name, &parent) || !is_launcher(name))
			return false;
		if (has_terminal(pid))
			return true;
	}
	return false;
}
