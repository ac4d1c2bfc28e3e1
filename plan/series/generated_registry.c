/* SPDX-License-Identifier: Apache-2.0 */
/* Registry of generated data sets: see series.h. Each entry is the place of a data set and the text
 * that describes it. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "plan/option_ref.h"
#include "plan/series/series.h"
#include "workloads/dataset/dataset.h"
#include "workloads/generate/generate.h"

struct generated_entry {
	char *place, *what;
	uint32_t run;
};

static char *options_text(const struct section *section, const void *options)
{
	cJSON *json = options_to_json(section->tables, options);
	char *text = json ? json_print(json) : NULL;

	cJSON_Delete(json);
	return text;
}

static void entry_free(struct generated_entry *e)
{
	free(e->place);
	free(e->what);
}

/* The folder of a phase that has one of its own, and its store; NULL: it has none. */
static const char *folder_of(const struct job *job, const struct job_phase *phase,
			     const struct job_store **store)
{
	struct option_ref look;
	struct err ignored = {0};

	return option_find(phase->section, phase->options, phase->path, "folder", OPTION_TEXT,
			   &look) &&
			       phase_store_find(job, phase, store, &ignored) == 0
		       ? look.value
		       : NULL;
}

static bool same_folder(const struct job *job, const struct job_phase *a, const struct job_phase *b)
{
	const struct job_store *x, *y;
	const char *one = folder_of(job, a, &x), *other = folder_of(job, b, &y);
	const struct store_options *s, *t;

	if (!one || !other || strcmp(one, other) != 0)
		return false;
	s = x->options;
	t = y->options;
	for (uint32_t i = 0; s->uri.count == t->uri.count && i < s->uri.count; i++)
		if (strcmp(s->uri.items[i], t->uri.items[i]) != 0)
			return false;
	return s->uri.count == t->uri.count;
}

bool series_makes_once(const struct job *job, const struct job_phase *phase,
		       const struct phase_filter *filter)
{
	const struct workload *w = phase->section->owner;
	bool read = false;

	if (w->generating || phase->together || !w->builds || !w->builds(phase))
		return w->generating;
	for (uint32_t i = 0; i < job->phase_count; i++) {
		const struct job_phase *other = &job->phases[i];
		const struct workload *own = other->section->owner;

		if (other == phase || !phase_filter_wants(filter, other) ||
		    !same_folder(job, phase, other))
			continue;
		if (!own->leaves || !own->leaves(other))
			return false;
		read = true;
	}
	return read;
}

/* Describes a data set by the store's URIs, the folder below them and its options; a model or an index
 * (dataset NULL) by the phase's own options, which also belong to the description where a store keeps no content. */
static int generated_describe(const struct job *job, const struct job_phase *phase,
			      const struct job_store *store, const struct job_dataset *dataset,
			      struct generated_entry *e, struct err *err)
{
	const struct backend_ops *ops = store->section->owner;
	const struct store_options *common = store->options;
	const struct dataset_options *options = dataset ? dataset->options : NULL;
	bool content = dataset && ops->capabilities & BACKEND_CONTENT;
	char *data =
		dataset ? options_text(&dataset_section, options) : strdup(phase->section->name);
	char *own = content ? strdup("") : options_text(phase->section, phase->options);
	size_t size = 0;
	FILE *place = open_memstream(&e->place, &size);
	bool whole = data && own && place;

	for (uint32_t i = 0; place && i < common->uri.count; i++)
		fprintf(place, "%s ", common->uri.items[i]);
	if (place)
		fprintf(place, "%s", dataset ? options->folder : folder_of(job, phase, &store));
	if (place && fclose(place) != 0)
		whole = false;
	if (whole && asprintf(&e->what, "%llu %s %s", (unsigned long long)job->seed, data, own) < 0)
		e->what = NULL;
	free(data);
	free(own);
	if (e->place && e->what)
		return 0;
	entry_free(e);
	return err_set(err, -ENOMEM, "no memory for what a series has made");
}

/* What was in the place is there no more. */
static void generated_forget(struct generated_registry *m, const struct generated_entry *e)
{
	for (uint32_t i = 0; i < m->count; i++) {
		struct generated_entry *have = &m->entries[i];

		if (strcmp(have->place, e->place) != 0 || strcmp(have->what, e->what) == 0)
			continue;
		entry_free(have);
		*have = m->entries[--m->count];
		i--;
	}
}

static enum generated_before generated_find(const struct generated_registry *m,
					    const struct generated_entry *e, bool content,
					    bool *noted)
{
	enum generated_before before = MADE_NOT;

	*noted = false;
	for (uint32_t i = 0; i < m->count; i++) {
		const struct generated_entry *have = &m->entries[i];
		bool same = strcmp(have->what, e->what) == 0;

		if (strcmp(have->place, e->place) != 0)
			continue;
		*noted |= same;
		if (have->run == e->run)
			continue;
		if (same)
			return MADE_SAME;
		if (content)
			before = MADE_OTHER;
	}
	return before;
}

int generated_phase(struct generated_registry *m, const struct job *job,
		    const struct job_phase *phase, uint32_t run, enum generated_before *before,
		    struct err *err)
{
	const struct job_dataset *dataset = NULL;
	const struct job_store *store;
	struct generated_entry e = {.run = run}, *larger;
	const struct backend_ops *ops;
	bool builds = !((const struct workload *)phase->section->owner)->generating, noted;
	struct option_ref look;
	int rc;

	*before = MADE_NOT;
	if (builds ||
	    (phase->section->owner == &generate_workload && generate_makes_model(phase->options)))
		rc = phase_store_find(job, phase, &store, err);
	else if (!option_find(phase->section, phase->options, phase->path, "dataset", OPTION_TEXT,
			      &look))
		return 0;
	else
		rc = dataset_find(job, phase, look.value, &dataset, &store, err);
	if (rc < 0)
		return rc;
	rc = generated_describe(job, phase, store, dataset, &e, err);
	if (rc < 0)
		return rc;
	ops = store->section->owner;
	if (builds)
		generated_forget(m, &e);
	*before = generated_find(m, &e, ops->capabilities & BACKEND_CONTENT, &noted);
	larger = noted ? NULL : realloc(m->entries, (m->count + 1) * sizeof(*larger));
	if (larger) {
		m->entries = larger;
		m->entries[m->count++] = e;
		return 0;
	}
	entry_free(&e);
	return noted ? 0 : err_set(err, -ENOMEM, "no memory for what a series has made");
}

void generated_free(struct generated_registry *m)
{
	for (uint32_t i = 0; i < m->count; i++)
		entry_free(&m->entries[i]);
	free(m->entries);
	*m = (struct generated_registry){0};
}
