/* Progress line: see progress.h. */
#include "ranks/run/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/units.h"
#include "ranks/run/terminal.h"

enum { PROGRESS_BYTES = 256 };
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

static void progress_text(const struct progress_line *line, const struct progress *p, uint64_t now,
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

void progress_show(void *argument, const struct progress *p)
{
	struct progress_line *line = argument;
	uint64_t now = clock_now(line->clock);
	char text[PROGRESS_BYTES + 16], body[PROGRESS_BYTES];
	int n;

	if (now < line->next_ns)
		return;
	line->next_ns = now + (line->terminal ? PROGRESS_TERMINAL_NS : PROGRESS_LOG_NS);
	progress_text(line, p, now, body);
	n = snprintf(text, sizeof(text), line->terminal ? "\r\033[K%s" : "%s\n", body);
	if (n > 0 && write(line->fd, text, (size_t)n) < 0)
		line->next_ns = UINT64_MAX; /* nobody reads the line */
	line->shown = true;
}

void progress_end(struct progress_line *line)
{
	if (line->terminal && line->shown && write(line->fd, "\r\033[K", 4) < 0)
		line->shown = false;
}
