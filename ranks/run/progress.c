/* Progress line: see progress.h. */
#include "ranks/run/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/units.h"
#include "ranks/run/terminal.h"

#define PROGRESS_TERMINAL_NS 250000000ull
#define PROGRESS_FIRST_NS    2000000000ull
#define PROGRESS_LOG_NS      10000000000ull

void progress_start(struct progress_line *line, struct clock *clock, int fd, uint32_t run,
		    uint32_t runs)
{
	memset(line, 0, sizeof(*line));
	line->run = run;
	line->runs = runs;
	line->clock = clock;
	line->fd = fd;
	line->terminal = terminal_watched(fd);
	line->start_ns = clock_now(clock);
	line->next_ns =
		line->start_ns + (line->terminal ? PROGRESS_TERMINAL_NS : PROGRESS_FIRST_NS);
}

void progress_text(const struct progress_line *line, const struct progress *p, uint64_t now,
		   char out[PROGRESS_BYTES])
{
	double elapsed = (double)(now - line->start_ns) / 1e9;
	uint64_t waiting = p->merged->waiting;
	char left[UNITS_TEXT_BYTES];
	size_t n = 0;

	if (line->runs > 1)
		n = (size_t)snprintf(out, PROGRESS_BYTES, "run %u/%u · ", line->run, line->runs);
	p->text(p, elapsed, out + n, PROGRESS_BYTES - n);
	n = strlen(out);
	if (waiting)
		n += (size_t)snprintf(out + n, PROGRESS_BYTES - n, " · %llu rank%s waiting",
				      (unsigned long long)waiting, waiting == 1 ? "" : "s");
	if (p->fraction > 0 && n < PROGRESS_BYTES)
		snprintf(out + n, PROGRESS_BYTES - n, " · %s left",
			 units_clock(left, elapsed / p->fraction * (1 - p->fraction)));
}

static bool progress_due(struct progress_line *line, uint64_t now)
{
	if (now < line->next_ns)
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

void progress_show(void *argument, const struct progress *p)
{
	struct progress_line *line = argument;
	uint64_t now = clock_now(line->clock);
	char body[PROGRESS_BYTES];

	if (!progress_due(line, now))
		return;
	progress_text(line, p, now, body);
	progress_write(line, body);
}

void progress_show_beside(struct progress_line *line)
{
	if (*line->beside && progress_due(line, clock_now(line->clock)))
		progress_write(line, "");
}

void progress_end(struct progress_line *line)
{
	if (line->terminal && line->shown && write(line->fd, "\r\033[K", 4) < 0)
		line->shown = false;
}
