/* SPDX-License-Identifier: Apache-2.0 */
/* Differences between the sides of a comparison: see difference.h. */
#include "report/difference.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_path.h"
#include "core/numbers.h"
#include "core/units.h"
#include "report/client_side.h"

const char *const difference_abouts[DIFFERENCE_ABOUTS] = {
#define DIFFERENCE_NAME(id, name) [DIFFERENCE_##id] = (name),
	DIFFERENCE_LIST(DIFFERENCE_NAME)
#undef DIFFERENCE_NAME
};

enum { DIFFERENCE_DEPTH = 16, HOSTS_BYTES = 512 };

static struct difference *difference_row(struct differences *d, enum difference_about about,
					 const char *what)
{
	struct difference *rows, *row;

	for (unsigned i = 0; i < d->count; i++)
		if (d->rows[i].about == about && strcmp(d->rows[i].what, what) == 0)
			return &d->rows[i];
	rows = realloc(d->rows, (d->count + 1) * sizeof(*rows));
	if (!rows)
		return NULL;
	d->rows = rows;
	row = &rows[d->count];
	*row = (struct difference){.about = about,
				   .values = calloc(d->sides, sizeof(*row->values))};
	if (!row->values)
		return NULL;
	snprintf(row->what, sizeof(row->what), "%s", what);
	snprintf(row->title, sizeof(row->title), "%s: %s", difference_abouts[about], row->what);
	d->count++;
	return row;
}

/* A later text for the same thing replaces the earlier one. */
static void difference_put(struct differences *d, enum difference_about about, const char *what,
			   unsigned side, const char *text)
{
	struct difference *row = difference_row(d, about, what);
	char *copy = row ? strdup(text) : NULL;

	if (!copy) {
		d->failed = true;
		return;
	}
	free(row->values[side]);
	row->values[side] = copy;
}

static void difference_put_number(struct differences *d, enum difference_about about,
				  const char *what, unsigned side, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	difference_put(d, about, what, side, text);
}

/* Adds every value of an object under its path, "stores.data.uri". */
static void difference_object(struct differences *d, unsigned side, const char *path,
			      const cJSON *object, unsigned depth)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, object)
	{
		char at[DIFFERENCE_WHAT_BYTES], *text;

		if (snprintf(at, sizeof(at), "%s%s%s", path, *path ? "." : "", item->string) >=
		    (int)sizeof(at))
			continue;
		if (cJSON_IsObject(item) && depth < DIFFERENCE_DEPTH) {
			difference_object(d, side, at, item, depth + 1);
			continue;
		}
		text = cJSON_IsString(item) ? strdup(item->valuestring)
					    : cJSON_PrintUnformatted(item);
		if (text)
			difference_put(d, DIFFERENCE_JOB, at, side, text);
		d->failed |= !text;
		free(text);
	}
}

/* A phase is called by its name, else by its kind, as --set does. */
static void difference_phase(struct differences *d, unsigned side, const cJSON *phase)
{
	const cJSON *options = phase ? phase->child : NULL;
	const cJSON *name = json_at(options, "name");
	bool named = cJSON_IsString(name) && *name->valuestring;

	if (cJSON_IsObject(options))
		difference_object(d, side, named ? name->valuestring : options->string, options, 0);
}

static void difference_phases(struct differences *d, unsigned side, const cJSON *phases)
{
	const cJSON *phase, *together, *one;

	cJSON_ArrayForEach(phase, phases)
	{
		together = json_at(phase, "together");
		if (!cJSON_IsArray(together))
			difference_phase(d, side, phase);
		cJSON_ArrayForEach(one, together) difference_phase(d, side, one);
	}
}

/* What the sweeps set for this side, in place of what the job says. */
static void difference_sets(struct differences *d, unsigned side,
			    const struct results_phase_read *p)
{
	for (uint32_t i = 0; i < p->set_count; i++) {
		const char *equals = strchr(p->sets[i], '=');
		char path[DIFFERENCE_WHAT_BYTES];

		if (!equals)
			continue;
		snprintf(path, sizeof(path), "%.*s", (int)(equals - p->sets[i]), p->sets[i]);
		difference_put(d, DIFFERENCE_JOB, path, side, equals + 1);
	}
}

static void difference_job(struct differences *d, unsigned side, const struct difference_side *s)
{
	cJSON *job = s->file->job_text ? cJSON_Parse(s->file->job_text) : NULL;
	cJSON *phases = cJSON_DetachItemFromObjectCaseSensitive(job, "phases");

	difference_object(d, side, "", job, 0);
	difference_phases(d, side, phases);
	cJSON_Delete(phases);
	cJSON_Delete(job);
	for (uint32_t i = 0; i < s->file->phase_count; i++)
		if (s->file->phases[i].record.combination == s->combination)
			difference_sets(d, side, &s->file->phases[i]);
}

static void difference_machine(struct differences *d, unsigned side, const struct results_file *f)
{
	char hosts[HOSTS_BYTES] = "";
	size_t used = 0;

	difference_put_number(d, DIFFERENCE_MACHINE, "nodes", side, f->nodes);
	difference_put_number(d, DIFFERENCE_MACHINE, "ranks", side, f->ranks);
	for (uint64_t i = 0; f->hosts && i < f->nodes && used < sizeof(hosts); i++)
		used += (size_t)snprintf(hosts + used, sizeof(hosts) - used, "%s%s", i ? " " : "",
					 f->hosts[i]);
	difference_put(d, DIFFERENCE_MACHINE, "hosts", side, hosts);
	if (f->links && f->nodes) {
		difference_put_number(d, DIFFERENCE_MACHINE, "network, bytes/s", side,
				      f->links[0].nic_bytes_per_s);
		difference_put_number(d, DIFFERENCE_MACHINE, "RDMA, bytes/s", side,
				      f->links[0].rdma_bytes_per_s);
	}
}

static void difference_store(struct differences *d, unsigned side, const struct store_facts *s)
{
	const struct {
		const char *what, *text;
	} facts[] = {{"engine", s->engine},
		     {"file system", s->file_system},
		     {"client library", s->client},
		     {"layout", s->layout},
		     {"page cache", s->direct ? "bypassed" : "used"}};

	for (size_t i = 0; i < COUNT(facts); i++) {
		char what[DIFFERENCE_WHAT_BYTES];

		snprintf(what, sizeof(what), "%s of %s", facts[i].what, s->name);
		difference_put(d, DIFFERENCE_CLIENT, what, side, facts[i].text);
	}
}

/* Whether the client was the limit of the phase, in any of its repeats. */
static void difference_limit(struct differences *d, unsigned side, const struct results_file *f,
			     const struct results_phase_read *p)
{
	char what[DIFFERENCE_WHAT_BYTES];
	struct difference *row;
	struct client_side c;
	const char *limit;

	if (!client_side_of(f, p, &c))
		return;
	limit = client_limit_name(c.limit);
	client_side_free(&c);
	snprintf(what, sizeof(what), "limit of %s", p->record.name);
	row = difference_row(d, DIFFERENCE_CLIENT, what);
	if (limit || !row || !row->values[side])
		difference_put(d, DIFFERENCE_CLIENT, what, side, limit ? limit : "not the client");
}

static void difference_client(struct differences *d, unsigned side, const struct difference_side *s)
{
	const struct results_file *f = s->file;

	difference_put(d, DIFFERENCE_CLIENT, "haul", side, f->version);
	difference_put(d, DIFFERENCE_CLIENT, "build", side, f->build ? f->build : "");
	for (uint64_t i = 0; f->stores && i < f->store_count; i++)
		if (f->stores[i].nodes)
			difference_store(d, side, &f->stores[i]);
	for (uint32_t i = 0; i < f->phase_count; i++)
		if (f->phases[i].record.combination == s->combination &&
		    !f->phases[i].record.warmup)
			difference_limit(d, side, f, &f->phases[i]);
}

/* Quantities that people write with a unit. A number of a job is in bytes, bytes per second or
 * seconds. */
static const struct difference_unit {
	int (*parse)(const char *text, uint64_t *value, struct err *err);
	char *(*write)(char text[UNITS_TEXT_BYTES], double number);
	double one; /* what is parsed of 1 in a job */
	bool binary;
} difference_units[] = {
	{units_parse_rate, units_rate, 1, false},
	{units_parse_bytes, units_bytes_binary, 1, true},
	{units_parse_bytes, units_bytes_decimal, 1, false},
	{units_parse_time, units_time, 1e9, false},
};

/* The unit of a text like "100 MB/s"; NULL: it has none. */
static const struct difference_unit *difference_unit_of(const char *text, uint64_t *value)
{
	const char *behind = text + strspn(text, "0123456789. ");
	struct err ignored;

	if (behind == text || !*behind)
		return NULL;
	for (size_t i = 0; i < COUNT(difference_units); i++) {
		const struct difference_unit *u = &difference_units[i];

		if ((!u->binary || strstr(behind, "iB")) && u->parse(text, value, &ignored) == 0)
			return u;
	}
	return NULL;
}

/* A number without a unit, in the unit of another side. Where both mean the same, they have the
 * same text; where rounding would make them look the same, the number stays. Returns NULL where
 * there is no memory. */
static char *difference_with_unit(const char *number, const struct difference_unit *u,
				  const char *other, uint64_t other_value)
{
	double value = strtod(number, NULL);
	char text[UNITS_TEXT_BYTES];

	if (fabs(value * u->one - (double)other_value) < 0.5)
		return strdup(other);
	u->write(text, value);
	return strdup(strcmp(text, other) == 0 ? number : text);
}

/* Prints a row's numbers in the unit of the first side that has a number with one. */
static void difference_unify(struct differences *d, struct difference *row)
{
	const struct difference_unit *unit = NULL;
	const char *other = NULL;
	unsigned has_unit = 0;
	uint64_t value = 0;

	for (unsigned i = 0; !unit && i < d->sides; i++) {
		has_unit = i;
		other = row->values[i];
		unit = other ? difference_unit_of(other, &value) : NULL;
	}
	for (unsigned i = 0; unit && i < d->sides; i++) {
		char *old = row->values[i], *end = NULL, *text;

		if (old)
			strtod(old, &end);
		if (i == has_unit || !old || end == old || *end)
			continue;
		text = difference_with_unit(old, unit, other, value);
		d->failed |= !text;
		if (!text)
			continue;
		free(old);
		row->values[i] = text;
	}
}

static bool difference_is_one(const struct difference *row, unsigned sides)
{
	for (unsigned i = 1; i < sides; i++) {
		const char *a = row->values[0], *b = row->values[i];

		if (a != b && !(a && b && strcmp(a, b) == 0))
			return true;
	}
	return false;
}

static void difference_row_free(struct difference *row, unsigned sides)
{
	for (unsigned i = 0; i < sides; i++)
		free(row->values[i]);
	free(row->values);
}

static int difference_compare(const void *a, const void *b)
{
	const struct difference *x = a, *y = b;

	if (x->about != y->about)
		return x->about < y->about ? -1 : 1;
	return strcmp(x->what, y->what);
}

/* Rows of the job that stand for one phase or part of it, from the first on: "train.batch",
 * "train.compute". */
static unsigned difference_group(const struct differences *d, unsigned first)
{
	const struct difference *row = &d->rows[first];
	size_t n = strcspn(row->what, ".");
	unsigned count = 1;

	while (row->about == DIFFERENCE_JOB && row->what[n] && first + count < d->count &&
	       row[count].about == DIFFERENCE_JOB &&
	       strncmp(row->what, row[count].what, n + 1) == 0)
		count++;
	return count;
}

static bool difference_lacks(const struct difference *rows, unsigned count, unsigned side)
{
	for (unsigned i = 0; i < count; i++)
		if (rows[i].values[side])
			return false;
	return true;
}

/* What a side lacks altogether, such as a phase, is one row, and not one for each of its keys. The
 * rows are sorted. */
static void differences_fold(struct differences *d)
{
	unsigned kept = 0, count;

	for (unsigned i = 0; i < d->count; i += count) {
		struct difference *rows = &d->rows[i];
		bool lacking = false;

		count = difference_group(d, i);
		for (unsigned side = 0; count > 1 && side < d->sides; side++)
			lacking |= difference_lacks(rows, count, side);
		for (unsigned side = 0; lacking && side < d->sides; side++) {
			bool none = difference_lacks(rows, count, side);

			free(rows->values[side]);
			rows->values[side] = none ? NULL : strdup("in the job");
			d->failed |= !none && !rows->values[side];
		}
		if (lacking) {
			rows->what[strcspn(rows->what, ".")] = '\0';
			snprintf(rows->title, sizeof(rows->title), "%s: %s",
				 difference_abouts[rows->about], rows->what);
		}
		for (unsigned k = 0; k < count; k++)
			if (k == 0 || !lacking)
				d->rows[kept++] = rows[k];
			else
				difference_row_free(&rows[k], d->sides);
	}
	d->count = kept;
}

bool differences_make(struct differences *d, const struct difference_side *sides, unsigned count)
{
	unsigned kept = 0;

	*d = (struct differences){.sides = count};
	for (unsigned i = 0; i < count; i++) {
		difference_job(d, i, &sides[i]);
		difference_machine(d, i, sides[i].file);
		difference_client(d, i, &sides[i]);
	}
	for (unsigned i = 0; i < d->count; i++)
		if (d->rows[i].about == DIFFERENCE_JOB)
			difference_unify(d, &d->rows[i]);
	if (d->count)
		qsort(d->rows, d->count, sizeof(*d->rows), difference_compare);
	differences_fold(d);
	for (unsigned i = 0; i < d->count; i++)
		if (difference_is_one(&d->rows[i], count))
			d->rows[kept++] = d->rows[i];
		else
			difference_row_free(&d->rows[i], count);
	d->count = kept;
	return !d->failed;
}

void differences_free(struct differences *d)
{
	for (unsigned i = 0; i < d->count; i++)
		difference_row_free(&d->rows[i], d->sides);
	free(d->rows);
}
