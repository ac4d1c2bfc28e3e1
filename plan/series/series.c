/* SPDX-License-Identifier: Apache-2.0 */
/* Series of runs: see series.h. */
#include "plan/series/series.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/units.h"
#include "core/uri.h"
#include "plan/search/halving.h"

#define DOTS ".."

/* A whole number, or a size with its unit. */
static bool doubling_value(const char *from, const char *to, uint64_t *value, bool *size)
{
	size_t length = (size_t)(to - from);
	char text[DOUBLING_TEXT_BYTES], *end;
	struct err ignored;

	if (to <= from || length >= sizeof(text) || !isdigit((unsigned char)*from))
		return false;
	memcpy(text, from, length);
	text[length] = '\0';
	errno = 0;
	*value = strtoull(text, &end, 10);
	if (!*end)
		return errno == 0;
	*size = true;
	return units_parse_bytes(text, value, &ignored) == 0;
}

bool doubling_begin(struct doubling *d, const char *from, const char *to)
{
	const char *dots = memmem(from, (size_t)(to - from), DOTS, strlen(DOTS));

	*d = (struct doubling){0};
	return dots && doubling_value(from, dots, &d->next, &d->size) &&
	       doubling_value(dots + strlen(DOTS), to, &d->high, &d->size) && d->next > 0 &&
	       d->next < d->high && d->high < UINT64_MAX / 2;
}

/* In the largest unit that leaves no rest. */
static void doubling_size(char text[DOUBLING_TEXT_BYTES], uint64_t value)
{
	static const char *const units[] = {"", " KiB", " MiB", " GiB", " TiB"};
	size_t i = 0;

	for (; i + 1 < COUNT(units) && value % 1024 == 0; i++)
		value /= 1024;
	snprintf(text, DOUBLING_TEXT_BYTES, "%llu%s", (unsigned long long)value, units[i]);
}

bool doubling_next(struct doubling *d, char text[DOUBLING_TEXT_BYTES])
{
	if (d->over)
		return false;
	if (d->size)
		doubling_size(text, d->next);
	else
		snprintf(text, DOUBLING_TEXT_BYTES, "%llu", (unsigned long long)d->next);
	d->over = d->next == d->high;
	d->next = min_u64(2 * d->next, d->high);
	return true;
}

void series_free(struct series *s)
{
	arena_free(&s->arena);
	memset(s, 0, sizeof(*s));
}

static int count_runs(const struct series *s, struct err *err)
{
	uint64_t runs = (uint64_t)s->combinations * (s->warmup + s->repeat);

	if (runs <= SERIES_RUNS_MAX)
		return 0;
	return err_set(err, -EINVAL, "%llu runs are too many: a series has at most %d",
		       (unsigned long long)runs, SERIES_RUNS_MAX);
}

/* The end of the value that begins at text: a comma outside brackets and quotes, or the end of the
 * text. NULL: a bracket or a quote is not closed. */
static const char *value_end(const char *text)
{
	bool quoted = false;
	int depth = 0;

	for (; *text && (*text != ',' || depth || quoted); text++) {
		if (quoted && *text == '\\' && text[1])
			text++;
		else if (*text == '"')
			quoted = !quoted;
		else if (!quoted && (*text == '[' || *text == '{'))
			depth++;
		else if (!quoted && (*text == ']' || *text == '}'))
			depth--;
	}
	return depth || quoted ? NULL : text;
}

/* "path=value" with the value between two positions, without the blanks around it. NULL: no
 * memory. */
static char *series_make_set(struct series *s, const struct sweep *w, const char *from,
			     const char *to)
{
	size_t path = strlen(w->path), n;
	char *set;

	while (from < to && *from == ' ')
		from++;
	while (to > from && to[-1] == ' ')
		to--;
	n = (size_t)(to - from);
	set = arena_alloc(&s->arena, path + n + 2);
	if (!set)
		return NULL;
	memcpy(set, w->path, path);
	set[path] = '=';
	memcpy(set + path + 1, from, n);
	return set;
}

static int series_add_value(struct series *s, struct sweep *w, const char *from, const char *to,
			    struct err *err)
{
	char *set = series_make_set(s, w, from, to);
	uint32_t i;

	if (!set)
		return err_set(err, -ENOMEM, "no memory");
	if (!set[strlen(w->path) + 1])
		return err_set(err, -EINVAL, "its value number %u is empty", w->count + 1);
	for (i = 0; i < w->count; i++)
		if (strcmp(w->sets[i], set) == 0)
			return err_set(err, -EINVAL, "%s is in it twice",
				       set + strlen(w->path) + 1);
	w->sets[w->count++] = set;
	return 0;
}

static int series_check_path(const struct series *s, const char *path, struct err *err)
{
	uint32_t i;

	if (strcmp(path, "cluster") == 0 || strncmp(path, "cluster.", 8) == 0)
		return err_set(
			err, -EINVAL,
			"ranks are placed once for the whole series: /cluster cannot change");
	for (i = 0; i < s->sweep_count; i++)
		if (strcmp(s->sweeps[i].path, path) == 0)
			return err_set(err, -EINVAL, "%s is already swept", path);
	return 0;
}

/* A value, or those of a range whose values are doubled. */
static int series_add_values(struct series *s, struct sweep *w, const char *from, const char *to,
			     bool ranges, struct err *err)
{
	char text[DOUBLING_TEXT_BYTES];
	struct doubling d;
	int rc = 0;

	if (!ranges || !doubling_begin(&d, from, to))
		return series_add_value(s, w, from, to, err);
	while (rc == 0 && doubling_next(&d, text))
		rc = series_add_value(s, w, text, text + strlen(text), err);
	return rc;
}

/* The most values that a text may stand for: each takes a character, and a range has up to 64. */
static size_t sweep_room(const char *text, bool ranges)
{
	return ranges ? (strlen(text) + 1) * 64 : strlen(text) + 1;
}

static int read_sweep(struct series *s, const char *text, bool ranges, struct err *err)
{
	struct sweep *w = &s->sweeps[s->sweep_count];
	const char *equals = strchr(text, '='), *from, *to;
	char *path;
	int rc;

	if (!equals || equals == text)
		return err_set(err, -EINVAL, "write it as path=a,b,c, as in train.batch=2,4,8");
	path = arena_alloc(&s->arena, (size_t)(equals - text) + 1);
	w->sets = arena_alloc(&s->arena, sweep_room(equals, ranges) * sizeof(*w->sets));
	if (!path || !w->sets)
		return err_set(err, -ENOMEM, "no memory");
	memcpy(path, text, (size_t)(equals - text));
	rc = series_check_path(s, path, err);
	w->path = path;
	for (from = equals + 1, to = NULL; rc == 0 && (!to || *to); from = to + 1) {
		to = value_end(from);
		if (!to)
			return err_set(err, -EINVAL, "a bracket or a quote is not closed");
		rc = series_add_values(s, w, from, to, ranges, err);
	}
	if (rc < 0)
		return rc;
	s->sweep_count++;
	s->combinations *= w->count;
	return 0;
}

/* option: what the texts were given by. */
static int read_sweeps(struct series *s, const char *option, const char *const *texts,
		       unsigned count, bool ranges, struct err *err)
{
	int rc = 0;

	if (count > SERIES_SWEEPS_MAX)
		return err_set(err, -EINVAL, "--%s: is given more than %d times", option,
			       SERIES_SWEEPS_MAX);
	for (unsigned i = 0; rc == 0 && i < count; i++) {
		rc = read_sweep(s, texts[i], ranges, err);
		if (rc < 0)
			err_wrap(err, rc, "--%s %.*s", option, uri_change_shown(texts[i]),
				 texts[i]);
		else
			rc = count_runs(s, err);
	}
	return rc;
}

int series_init(struct series *s, const char *const *sweeps, unsigned count, uint32_t repeat,
		uint32_t warmup, struct err *err)
{
	int rc;

	*s = (struct series){.combinations = 1, .repeat = repeat, .warmup = warmup};
	rc = read_sweeps(s, "sweep", sweeps, count, false, err);
	if (rc == 0)
		rc = count_runs(s, err);
	if (rc < 0)
		series_free(s);
	return rc;
}

int series_of_job(struct series *s, const struct job *job, struct err *err)
{
	if (!job->repeat)
		return 0;
	s->repeat = (uint32_t)job->repeat;
	s->warmup = (uint32_t)job->warmup;
	return count_runs(s, err);
}

int series_search(struct series *s, const struct question *q, uint32_t warmup, struct err *err)
{
	const uint64_t ends[] = {q->ask.low, q->ask.high};
	struct sweep *w = &s->sweeps[0];
	char set[QUESTION_TEXT_BYTES + 24];
	/* The ends of a range of unknown values are searched for like the answer itself. */
	uint64_t ways = q->ask.repeats > 1 ? 3 : 1;
	uint64_t runs = ways * bisect_steps_most(&q->ask) * (warmup + q->ask.repeats);

	if (s->sweep_count)
		return err_set(err, -EINVAL, "--find and --sweep exclude each other");
	if (series_check_path(s, q->path, err) < 0)
		return err_wrap(err, -EINVAL, "--find %s", q->path);
	w->sets = arena_alloc(&s->arena, COUNT(ends) * sizeof(*w->sets));
	w->path = q->path;
	for (unsigned i = 0; w->sets && i < COUNT(ends); i++) {
		question_value(q, ends[i], set);
		w->sets[i] = arena_text(&s->arena, set);
		if (w->sets[i])
			w->count++;
	}
	if (w->count < COUNT(ends))
		return err_set(err, -ENOMEM, "no memory");
	s->sweep_count = 1;
	s->combinations = w->count;
	s->searches = true;
	s->runs_most = (uint32_t)(runs < SERIES_RUNS_MAX ? runs : SERIES_RUNS_MAX);
	return 0;
}

int series_tune(struct series *s, const char *const *tunes, unsigned count, uint32_t repeats,
		uint32_t warmup, struct err *err)
{
	struct halving_ask ask = {.repeats = repeats, .warmup = warmup};
	int rc;

	if (s->sweep_count)
		return err_set(err, -EINVAL, "--tune excludes --sweep and --find");
	if (repeats < 2 || repeats > HALVING_REPEATS_MAX)
		return err_set(err, -EINVAL, "--repeat: with --tune, 2 to %d", HALVING_REPEATS_MAX);
	s->repeat = 1;
	s->warmup = 0;
	rc = read_sweeps(s, "tune", tunes, count, true, err);
	if (rc < 0)
		return rc;
	if (s->combinations < 2)
		return err_set(
			err, -EINVAL,
			"--tune %s: one value leaves no choice; write %s=1,4,16, or %s=1..16, "
			"which doubles from one value to the next",
			s->sweeps[0].path, s->sweeps[0].path, s->sweeps[0].path);
	if (s->combinations > HALVING_MOST)
		return err_set(err, -EINVAL, "--tune: %u combinations: there must be 2 to %d",
			       s->combinations, HALVING_MOST);
	ask.count = s->as_is = s->combinations;
	s->searches = s->tunes = true;
	s->runs_most = halving_cost(&ask).runs;
	if (s->runs_most > SERIES_RUNS_MAX)
		return err_set(err, -EINVAL,
			       "--tune: up to %u runs are too many: a series has at most %d",
			       s->runs_most, SERIES_RUNS_MAX);
	return 0;
}

/* The combination with that number among those that run. */
static uint32_t series_kept(const struct series *s, uint32_t number)
{
	uint32_t combination = 0;

	for (; combination < s->combinations; combination++)
		if (!s->left_out[combination] && !number--)
			break;
	return combination;
}

struct series_place series_at(const struct series *s, uint32_t run)
{
	uint32_t each = s->warmup + s->repeat, kept = s->combinations - s->left_out_count;

	if (s->interleave)
		return (struct series_place){series_kept(s, run % kept), run / kept};
	return (struct series_place){series_kept(s, run / each), run % each};
}

void series_sets(const struct series *s, uint32_t combination, const char **sets)
{
	uint32_t i;

	for (i = s->sweep_count; i--;) {
		const struct sweep *w = &s->sweeps[i];

		sets[i] = w->sets[combination % w->count];
		combination /= w->count;
	}
}

char *series_label(const char *const *sets, uint32_t count, char *out, size_t size)
{
	size_t n = 0;
	uint32_t i;

	out[0] = '\0';
	for (i = 0; i < count && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "", sets[i]);
	return out;
}
