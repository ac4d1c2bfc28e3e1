/* SPDX-License-Identifier: Apache-2.0 */
/* Live figures: see live.h. */
#include "ranks/run/live.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/clock_wait.h"
#include "core/json.h"
#include "core/log.h"
#include "core/part.h"
#include "workloads/workload.h"

#define LIVE_NS 1000000000u

/* How long a line that tells of the end of a phase waits for its reader. */
enum { LIVE_END_NS = 1000000000 };

/* Whether what is there may be written: live figures of an earlier run, an empty file, nothing; and
 * a pipe or a terminal, from which another program reads. */
static int live_refuse(const char *path, bool *regular, struct err *err)
{
	static const char begins[] = "{\"time_unix_s\":";
	char head[sizeof(begins) - 1];
	struct stat st, target;
	int fd, rc = 0;

	*regular = true;
	if (lstat(path, &st) < 0)
		return 0;
	if (S_ISLNK(st.st_mode) && stat(path, &target) == 0)
		*regular = S_ISREG(target.st_mode);
	else
		*regular = S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
	if (!*regular)
		return 0;
	rc = part_check_place(path, true, "", NULL, err);
	fd = rc == 0 && st.st_size ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
	if (fd < 0)
		return rc; /* opening it for writing tells why, if it cannot be written either */
	if (read(fd, head, sizeof(head)) != (ssize_t)sizeof(head) ||
	    memcmp(head, begins, sizeof(head)) != 0)
		rc = err_set(err, -EEXIST, "%s exists and holds something else than live figures",
			     path);
	close(fd);
	return rc;
}

int live_open(struct live *live, const char *path, const struct log *log, struct err *err)
{
	bool regular;
	int rc;

	*live = (struct live){.fd = STDOUT_FILENO, .log = log};
	if (strcmp(path, "-") == 0)
		return 0;
	live->fd = -1;
	rc = live_refuse(path, &regular, err);
	if (rc < 0)
		return rc;
	if (regular)
		live->fd = part_open_place(path, true, "", 0, err);
	else
		/* A pipe that nobody reads from is refused (ENXIO), not waited for. */
		live->fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (live->fd >= 0)
		return 0;
	rc = regular ? live->fd : -errno;
	live->fd = -1;
	return regular ? rc
		       : err_set(err, rc, "%s cannot be written: %s", path,
				 rc == -ENXIO ? "no program reads from it" : strerror(-rc));
}

void live_close(struct live *live)
{
	if (live->fd > STDERR_FILENO)
		close(live->fd);
	live->fd = -1;
}

void live_begin(struct live *live, uint64_t start_ns)
{
	live->next_ns = start_ns + LIVE_NS;
}

/* Ends the lines when one of them could not be written. */
static void live_fail(struct live *live, int error)
{
	log_say(live->log, LOG_WARNING, "--live: no more lines can be written: %s",
		strerror(error));
	live_close(live);
}

/* A line is shorter than what a pipe takes at once, so it is written whole or not at all. */
static void live_write(struct live *live, struct cJSON *row, uint64_t wait_ns)
{
	char *text = json_print_line(row);
	size_t bytes = text ? strlen(text) : 0;

	json_free(row);
	if (!text)
		return;
	text[bytes++] = '\n';
	if (clock_fd_wait(live->fd, POLLOUT, wait_ns) && write(live->fd, text, bytes) < 0)
		live_fail(live, errno);
	free(text);
}

/* What every line has. */
static struct cJSON *live_row(const struct live_at *at, const char *state)
{
	struct cJSON *row = json_object();
	uint64_t utc_ms = clock_utc_ns() / 1000000;

	json_add_number(row, "time_unix_s", (double)utc_ms / 1e3);
	json_add_text(row, "phase", at->phase);
	json_add_text(row, "state", state);
	json_add_number(row, "run", at->run);
	json_add_number(row, "runs", at->runs);
	json_add_number(row, "elapsed_s", at->elapsed_s);
	return row;
}

/* A count, or null where the phase has none. */
static void live_count(struct cJSON *row, const char *key, bool known, uint64_t value)
{
	json_add_number(row, key, known ? (double)value : NAN);
}

static void live_figures(struct cJSON *row, const struct progress_figures *f, double elapsed_s)
{
	json_add_text(row, "work", f->work);
	live_count(row, "epoch", f->epochs, f->epoch);
	live_count(row, "epochs", f->epochs, f->epochs);
	live_count(row, "step", f->epochs, f->step);
	live_count(row, "steps", f->epochs, f->steps);
	live_count(row, "items", f->items_name != NULL, f->items);
	live_count(row, "items_total", f->items_total, f->items_total);
	json_add_number(row, "au", f->au);
	json_add_number(row, "hit_share", f->hit_share);
	json_add_number(row, "bytes", (double)f->bytes);
	json_add_number(row, "bytes_per_second", f->removed ? NAN : progress_rate(f, elapsed_s));
	live_count(row, "p99_ns", f->p99_ns, f->p99_ns);
}

static bool live_due(struct live *live, uint64_t now)
{
	if (live->fd < 0 || now < live->next_ns)
		return false;
	live->next_ns += (now - live->next_ns) / LIVE_NS * LIVE_NS + LIVE_NS;
	return true;
}

void live_show(struct live *live, struct live_at at, const struct progress *p, uint64_t now)
{
	bool started = p->fraction > 0;
	struct progress_figures f;
	struct cJSON *row;

	if (!live_due(live, now))
		return;
	p->figures(p, &f);
	row = live_row(&at, "running");
	json_add_number(row, "fraction", started ? p->fraction : NAN);
	json_add_number(row, "left_s",
			started ? at.elapsed_s / p->fraction * (1 - p->fraction) : NAN);
	live_figures(row, &f, at.elapsed_s);
	json_add_number(row, "ranks_waiting", (double)p->merged->waiting);
	json_add_text(row, "beside", at.beside);
	live_write(live, row, 0);
}

void live_show_beside(struct live *live, struct live_at at, uint64_t now)
{
	struct cJSON *row;

	if (!live_due(live, now))
		return;
	row = live_row(&at, "waiting");
	json_add_text(row, "beside", at.beside);
	live_write(live, row, 0);
}

void live_end(struct live *live, struct live_at at, const char *status)
{
	if (live->fd >= 0)
		live_write(live, live_row(&at, status), LIVE_END_NS);
}
