/* SPDX-License-Identifier: Apache-2.0 */
/* Progress line: see progress.h. */
#include "ranks/run/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "core/units.h"
#include "ranks/run/live.h"

#define PROGRESS_TERMINAL_NS 250000000ull
#define PROGRESS_FIRST_NS    2000000000ull
#define PROGRESS_LOG_NS      10000000000ull

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

/* Whether a person sees what this process writes to standard error: on a terminal, or through a
 * pipe to a launcher (mpiexec and its helpers, srun) above this process on this machine whose own
 * standard error is a terminal. Between both may be the rank's shelter, which is this program. */
static bool terminal_watched(int fd)
{
	char own[TERMINAL_NAME_BYTES], name[TERMINAL_NAME_BYTES];
	pid_t pid, parent;

	if (isatty(fd))
		return true;
	if (!process_of(getpid(), own, &pid))
		return false;
	for (int i = 0; i < TERMINAL_ANCESTORS && pid > 1; i++, pid = parent) {
		if (!process_of(pid, name, &parent) ||
		    !(is_launcher(name) || strcmp(name, own) == 0))
			return false;
		if (has_terminal(pid))
			return true;
	}
	return false;
}

void progress_start(struct progress_line *line, struct clock *clock, int fd, uint32_t run,
		    uint32_t runs)
{
	memset(line, 0, sizeof(*line));
	line->run = run;
	line->runs = runs;
	line->clock = clock;
	line->fd = fd;
	line->terminal = fd >= 0 && terminal_watched(fd);
	line->start_ns = clock_now(clock);
	line->next_ns =
		line->start_ns + (line->terminal ? PROGRESS_TERMINAL_NS : PROGRESS_FIRST_NS);
}

void progress_live(struct progress_line *line, struct live *live, const char *phase)
{
	line->live = live;
	line->phase = phase;
	if (live)
		live_begin(live, line->start_ns);
}

/* Adds to a text of PROGRESS_BYTES, as far as there is room. */
static void progress_add(char *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void progress_add(char *out, const char *format, ...)
{
	size_t n = strlen(out);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(out + n, PROGRESS_BYTES - n, format, arguments);
	va_end(arguments);
}

/* "train 2/5 · step 13/100 · AU 93.1 %", or "generate · 28.0 % · 1,203 of 4,300 files". */
static void progress_place(const struct progress *p, const struct progress_figures *f, char *out)
{
	char text[UNITS_TEXT_BYTES], of[UNITS_TEXT_BYTES];

	progress_add(out, "%s", f->work);
	if (f->epochs)
		progress_add(out, " %llu/%llu · step %llu/%llu", (unsigned long long)f->epoch,
			     (unsigned long long)f->epochs, (unsigned long long)f->step,
			     (unsigned long long)f->steps);
	if (f->percent)
		progress_add(out, " · %.1f %%", 100 * p->fraction);
	if (f->items_total)
		progress_add(out, " · %s of %s %s", units_count(text, f->items),
			     units_count(of, f->items_total), f->items_name);
	else if (f->items_name && f->items)
		progress_add(out, " · %s %s", units_count(text, f->items), f->items_name);
	if (!isnan(f->au))
		progress_add(out, " · AU %.1f %%", 100 * f->au);
	if (!isnan(f->hit_share))
		progress_add(out, " · %.1f %% hits", 100 * f->hit_share);
}

/* Of what is to be done; the time left is not estimated from less. */
static const double progress_least_share = 1e-3;

void progress_text(const struct progress_line *line, const struct progress *p, uint64_t now,
		   char out[PROGRESS_BYTES])
{
	double elapsed = (double)(now - line->start_ns) / 1e9;
	uint64_t waiting = p->merged->waiting;
	struct progress_figures f;
	char text[UNITS_TEXT_BYTES];

	p->figures(p, &f);
	out[0] = '\0';
	if (line->runs > 1)
		progress_add(out, "run %u/%u · ", line->run, line->runs);
	if (line->phase && *line->phase && strcmp(line->phase, f.work) != 0)
		progress_add(out, "%s: ", line->phase);
	progress_place(p, &f, out);
	if (f.bytes && !f.epochs)
		progress_add(out, " · %s", units_bytes_decimal(text, (double)f.bytes));
	if (f.bytes && !f.removed)
		progress_add(out, " · %s", units_rate(text, progress_rate(&f, elapsed)));
	if (f.p99_ns)
		progress_add(out, " · %sp99 %s", f.epochs ? "read " : "",
			     units_time(text, (double)f.p99_ns / 1e9));
	if (waiting)
		progress_add(out, " · %llu rank%s waiting", (unsigned long long)waiting,
			     waiting == 1 ? "" : "s");
	if (p->fraction >= progress_least_share)
		progress_add(out, " · %s left",
			     units_clock(text, elapsed / p->fraction * (1 - p->fraction)));
}

static bool progress_due(struct progress_line *line, uint64_t now)
{
	if (line->fd < 0 || now < line->next_ns)
		return false;
	line->next_ns = now + (line->terminal ? PROGRESS_TERMINAL_NS : PROGRESS_LOG_NS);
	return true;
}

static void progress_write(struct progress_line *line, const char *body)
{
	const char *between = *body && *line->beside ? " | " : "";
	char text[sizeof(line->beside) + PROGRESS_BYTES + 16];
	int n = snprintf(text, sizeof(text), line->terminal ? "\r\033[K%s%s%s" : "%s%s%s\n", body,
			 between, line->beside);

	if (n > 0 && write(line->fd, text, (size_t)n) < 0)
		line->next_ns = UINT64_MAX; /* nobody reads the line */
	line->shown = true;
}

static struct live_at progress_at(const struct progress_line *line, uint64_t now)
{
	return (struct live_at){.phase = line->phase,
				.beside = line->beside,
				.run = line->run,
				.runs = line->runs,
				.elapsed_s = (double)(now - line->start_ns) / 1e9};
}

void progress_live_end(struct progress_line *line, const char *status)
{
	if (line->live)
		live_end(line->live, progress_at(line, clock_now(line->clock)), status);
}

void progress_show(void *argument, const struct progress *p)
{
	struct progress_line *line = argument;
	uint64_t now = clock_now(line->clock);
	char body[PROGRESS_BYTES];

	if (line->live)
		live_show(line->live, progress_at(line, now), p, now);
	if (!progress_due(line, now))
		return;
	progress_text(line, p, now, body);
	progress_write(line, body);
}

void progress_show_beside(struct progress_line *line)
{
	uint64_t now = clock_now(line->clock);

	if (*line->beside && line->live)
		live_show_beside(line->live, progress_at(line, now), now);
	if (*line->beside && progress_due(line, now))
		progress_write(line, "");
}

void progress_end(struct progress_line *line)
{
	if (line->terminal && line->shown && write(line->fd, "\r\033[K", 4) < 0)
		line->shown = false;
}
