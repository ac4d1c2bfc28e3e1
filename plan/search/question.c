/* SPDX-License-Identifier: Apache-2.0 */
/* The question of haul run --find: see question.h. */
#include "plan/search/question.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/measure/hist.h"
#include "plan/search/choice.h"

#define TARGET_PREFIX "target_"

/* A whole number at *at, which moves behind it. */
static bool question_number(const char **at, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	errno = 0;
	*out = strtoull(*at, &end, 10);
	*at = end;
	return errno == 0;
}

static int question_range(struct question *q, const char *find, struct err *err)
{
	const char *equals = strchr(find, '='), *at;
	struct bisect_ask *ask = &q->ask;
	bool good;

	if (!equals || equals == find || (size_t)(equals - find) >= sizeof(q->path))
		return err_set(err, -EINVAL,
			       "--find: write it as PATH=LOW..HIGH, as in ranks=1..64");
	memcpy(q->path, find, (size_t)(equals - find));
	at = equals + 1;
	good = question_number(&at, &ask->low) && strncmp(at, "..", 2) == 0;
	at += good ? 2 : 0;
	good = good && question_number(&at, &ask->high);
	ask->by = 1;
	if (good && *at == '/') {
		at++;
		good = question_number(&at, &ask->by);
	}
	if (!good || *at)
		return err_set(
			err, -EINVAL,
			"--find %s: write the values as LOW..HIGH or LOW..HIGH/STEP, in whole "
			"numbers, as in ranks=1..64 or ranks=8..512/8",
			q->path);
	if (ask->high >= UINT64_MAX / 2)
		return err_set(err, -EINVAL, "--find %s: its numbers are too large", q->path);
	if (!ask->by || ask->high <= ask->low || ask->by > ask->high - ask->low)
		return err_set(err, -EINVAL,
			       "--find %s: there must be at least two values from LOW to HIGH",
			       q->path);
	return 0;
}

/* Copies the text between two positions, without the blanks around it. false: it is empty, or too
 * long. */
static bool question_copy(char *out, size_t size, const char *from, const char *to)
{
	while (from < to && isspace((unsigned char)*from))
		from++;
	while (to > from && isspace((unsigned char)to[-1]))
		to--;
	if (from == to || (size_t)(to - from) >= size)
		return false;
	memcpy(out, from, (size_t)(to - from));
	out[to - from] = '\0';
	return true;
}

/* The first sign of a comparison in the text, and where it ends. NULL: there is none. */
static const char *question_sign(const char *text, const char **end, bool *most)
{
	/* "≤" is copied from a headline; "<" asks for the same, since targets are measured. */
	static const struct {
		const char *sign;
		bool most;
	} signs[] = {{"<=", true}, {">=", false}, {"≤", true},
		     {"≥", false}, {"<", true},   {">", false}};

	for (; *text; text++)
		for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
			if (strncmp(text, signs[i].sign, strlen(signs[i].sign)) == 0) {
				*end = text + strlen(signs[i].sign);
				*most = signs[i].most;
				return text;
			}
	return NULL;
}

/* "90 %" becomes 0.9, as the job has it. */
static void question_percent(char *value, size_t size)
{
	char *end;
	double percent = strtod(value, &end);

	while (end > value && isspace((unsigned char)*end))
		end++;
	if (end > value && strcmp(end, "%") == 0)
		snprintf(value, size, "%.9g", percent / 100);
}

static int question_until(struct question *q, const char *until, struct err *err)
{
	const char *behind = NULL, *end = until + strlen(until), *dot;
	const char *sign = question_sign(until, &behind, &q->ask.most);
	char name[QUESTION_TEXT_BYTES], value[QUESTION_TEXT_BYTES];
	bool good = sign && question_copy(name, sizeof(name), until, sign) &&
		    question_copy(value, sizeof(value), behind, end) &&
		    question_copy(q->until, sizeof(q->until), until, end);
	size_t prefix = strlen(TARGET_PREFIX);

	dot = good ? strrchr(name, '.') : NULL;
	if (!dot || !question_copy(q->phase, sizeof(q->phase), name, dot))
		return err_set(err, -EINVAL,
			       "--until: write it as \"PHASE.TARGET >= VALUE\" or \"<=\", as in "
			       "\"train.au >= 0.9\" or \"kvcache.request_p95 <= 200 ms\"");
	dot++;
	if (strncmp(dot, TARGET_PREFIX, prefix) == 0)
		dot += prefix;
	question_percent(value, sizeof(value));
	q->unitless = strpbrk(value, "0123456789") && !strpbrk(value, "dhmnsu");
	if (snprintf(q->target, sizeof(q->target), TARGET_PREFIX "%s", dot) >=
		    (int)sizeof(q->target) ||
	    snprintf(q->set, sizeof(q->set), "%s.%s=%s", q->phase, q->target, value) >=
		    (int)sizeof(q->set))
		return err_set(err, -EINVAL, "--until: is longer than it may be");
	return 0;
}

int question_parse(struct question *q, const char *find, const char *until, uint32_t repeats,
		   struct err *err)
{
	int rc;

	memset(q, 0, sizeof(*q));
	if (!find || !until)
		return err_set(err, -EINVAL, "--%s: needs --%s, too", find ? "find" : "until",
			       find ? "until" : "find");
	if (repeats < 1 || repeats > BISECT_REPEATS_MAX)
		return err_set(err, -EINVAL, "--repeat: with --find, 1 to %d", BISECT_REPEATS_MAX);
	q->ask.repeats = repeats;
	rc = question_range(q, find, err);
	return rc < 0 ? rc : question_until(q, until, err);
}

void question_value(const struct question *q, uint64_t value, char out[QUESTION_TEXT_BYTES + 24])
{
	snprintf(out, QUESTION_TEXT_BYTES + 24, "%s=%llu", q->path, (unsigned long long)value);
}

int question_meet(struct question *q, const struct job *job, struct err *err)
{
	const struct target *t;
	uint32_t i;

	for (i = 0; i < job->phase_count && !choice_is(&job->phases[i], q->phase); i++)
		;
	if (i == job->phase_count)
		return err_set(err, -EINVAL, "--until: the job has no phase \"%s\"", q->phase);
	for (t = job->phases[i].section->targets; t && t->name; t++)
		if (strcmp(t->name, q->target) == 0)
			break;
	q->ask.asked = job_target(&job->phases[i], q->target);
	if (!t || !t->name || isnan(q->ask.asked))
		return err_set(err, -EINVAL, "--until: a phase of the kind %s has no %s",
			       job->phases[i].section->name, q->target);
	if (q->ask.most != (t->bound == TARGET_MOST))
		return err_set(
			err, -EINVAL,
			"--until: %s %s: write \"%s\", because it is the %s that is asked for",
			q->target, q->ask.most ? "<=" : ">=", q->ask.most ? ">=" : "<=",
			q->ask.most ? "least" : "most");
	if (q->unitless && strcmp(t->unit, "ns") == 0)
		return err_set(err, -EINVAL,
			       "--until %s: is a time, so its value needs a unit, as in \"200 ms\"",
			       q->until);
	q->ask.blur = t->figure ? 0 : HIST_BLUR;
	q->phase_index = i;
	q->kind = t;
	return 0;
}
