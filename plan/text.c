/* SPDX-License-Identifier: Apache-2.0 */
/* `haul plan` as text for people: lines with a label and figures. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "facts/text.h"
#include "plan/datasize.h"
#include "plan/found.h"
#include "plan/notes.h"
#include "plan/option_ref.h"
#include "plan/rows.h"
#include "plan/space.h"
#include "plan/together.h"
#include "workloads/dataset/dataset.h"

static void put_job(FILE *out, const struct plan *plan, const struct job *job)
{
	char runs[UNITS_COUNTED_BYTES], warmups[UNITS_COUNTED_BYTES];
	uint32_t i, k;

	fprintf(out, "job        %s ·%s", job->name, plan->phase_count ? "" : " no phases");
	for (i = 0; i < plan->phase_count; i++) {
		const char *kind = plan->phases[i].phase->section->name;

		for (k = 0;
		     k < i && plan->phases[k].phase->section != plan->phases[i].phase->section; k++)
			;
		if (k == i)
			fprintf(out, "%s %s", i ? "," : "", kind);
	}
	fprintf(out, " · seed %llu\n", (unsigned long long)job->seed);
	if (job->repeat && job->warmup)
		fprintf(out, "series     %s after %s that %s left out\n",
			units_counted(runs, job->repeat, "run"),
			units_counted(warmups, job->warmup, "warm-up"),
			job->warmup > 1 ? "are" : "is");
	else if (job->repeat)
		fprintf(out, "series     %s\n", units_counted(runs, job->repeat, "run"));
}

static void put_dataset(FILE *out, const struct job *job, const struct job_dataset *described)
{
	const struct dataset_options *options = described->options;
	const struct job_store *store = look_store(job, options);
	char files[UNITS_COUNTED_BYTES], decimal[UNITS_TEXT_BYTES], binary[UNITS_TEXT_BYTES];
	const struct store_options *common = store ? store->options : NULL;
	struct dataset d;
	double bytes;

	if (dataset_init(&d, options, job->seed, "", NULL) < 0)
		return;
	bytes = dataset_bytes_expected(&d);
	units_counted(files, options->files, "file");
	units_bytes_decimal(decimal, bytes);
	units_bytes_binary(binary, bytes);
	fprintf(out, "data set   %s%s%s · %s · %s (%s)", described->name,
		described->name[0] ? ": " : "", files, format_names[d.options.format], decimal,
		binary);
	if (common && common->uri.count)
		fprintf(out, " · %s%s", common->uri.items[0], common->uri.count > 1 ? " …" : "");
	fputc('\n', out);
}

/* What is there of it already. */
static void put_found(FILE *out, const struct job *job, const struct job_dataset *described)
{
	char files[UNITS_COUNTED_BYTES];
	struct there f;

	found_look(job, described, &f);
	units_counted(files, f.files, "file");
	switch (f.state) {
	case FOUND_UNKNOWN:
		return;
	case FOUND_NONE:
		fprintf(out, "           nothing of it is there yet\n");
		return;
	case FOUND_BEGUN:
		fprintf(out, "           begun, and not complete: generate goes on with it\n");
		return;
	case FOUND_COMPLETE:
		fprintf(out, "           all of it is there, %s\n", files);
		return;
	case FOUND_OTHER:
		fprintf(out, "           another is there: %s\n", f.why);
	}
}

static void put_steps(FILE *out, const struct plan_phase *p, bool named)
{
	fprintf(out, "steps      %s%s", named ? p->phase->name : "", named ? ": " : "");
	text_words(out, "steps", plan_phase_columns, p);
	fputc('\n', out);
}

static void put_ranks(FILE *out, const struct plan *plan, unsigned stepped)
{
	char text[UNITS_TEXT_BYTES];
	uint32_t i;

	fprintf(out, "ranks      %s on ", units_count(text, plan->ranks));
	fprintf(out, "%s node%s\n", units_count(text, plan->nodes), plan->nodes == 1 ? "" : "s");
	for (i = 0; i < plan->phase_count; i++)
		if (plan->phases[i].demand.epochs)
			put_steps(out, &plan->phases[i], stepped > 1);
	fprintf(out, "memory     %s per node\n",
		units_bytes_binary(text, (double)plan->memory_bytes_per_node));
}

static void put_results(FILE *out, const struct plan *plan)
{
	char all[UNITS_TEXT_BYTES], one[UNITS_TEXT_BYTES];

	if (plan->results_bytes)
		fprintf(out, "results    about %s · each publication writes up to %s\n",
			units_bytes_decimal(all, (double)plan->results_bytes),
			units_bytes_decimal(one, (double)plan->publication_bytes));
}

/* Stores whose connections each begin at one of several network interfaces. */
static void put_interfaces(FILE *out, const struct job *job)
{
	const char *label = "interfaces";

	for (uint32_t i = 0; i < job->store_count; i++) {
		const struct job_store *store = &job->stores[i];
		const struct texts *names = store_interfaces(store);

		if (!names)
			continue;
		fprintf(out, "%-11s%s:", label, store->name);
		for (uint32_t k = 0; k < names->count; k++)
			fprintf(out, "%s %s", k ? "," : "", names->items[k]);
		fprintf(out, "%s\n",
			names->count > 1 ? " · each rank of a node has one near its cores" : "");
		label = "";
	}
}

/* From this rate on two decimals are enough. Below it, the time between two opens says more. */
#define LEAST_RATE 0.1

static void put_rate(FILE *out, const char *label, const struct plan_phase *p, double au)
{
	const struct demand *d = &p->demand;
	char all[UNITS_TEXT_BYTES], node[UNITS_TEXT_BYTES], opens[UNITS_TEXT_BYTES];
	char per_node[UNITS_TEXT_BYTES + 16];
	double rate = d->opens_per_second * au;

	units_rate(all, d->bytes_per_second * au);
	units_rate(node, d->bytes_per_second * au / p->nodes);
	snprintf(per_node, sizeof(per_node), "%s per node", node);
	fprintf(out, "%-11sAU %3.0f %%   %-10s  %-19s   ", label, au * 100, all, per_node);
	if (rate > 0 && rate < LEAST_RATE)
		fprintf(out, "one open every %s\n", units_time(opens, 1 / rate));
	else
		fprintf(out, "%s opens/s\n", units_short(opens, rate));
}

/* The whole phase, which its steps or its time limit may shorten. */
static void put_total(FILE *out, const struct demand *d, char text[UNITS_TEXT_BYTES])
{
	char steps[UNITS_COUNTED_BYTES];
	double whole = d->seconds * (double)d->epochs;

	if (d->seconds_limit > 0 && d->total_seconds >= d->seconds_limit)
		fprintf(out, " · ends after %s", units_time(text, d->seconds_limit));
	else if (d->total_seconds > 0 && d->total_seconds < whole * 0.999)
		fprintf(out, " · %s for %s", units_time(text, d->total_seconds),
			units_counted(steps,
				      (uint64_t)llround(d->total_seconds / d->seconds *
							(double)d->steps_per_epoch),
				      "step"));
	else if (d->epochs > 1)
		fprintf(out, " · %s for %llu epochs", units_time(text, whole),
			(unsigned long long)d->epochs);
}

static void put_needs(FILE *out, const struct plan_phase *p, bool named)
{
	const struct demand *d = &p->demand;
	char each[UNITS_TEXT_BYTES], all[UNITS_TEXT_BYTES];

	if (d->bytes_per_second <= 0)
		return;
	if (named)
		fprintf(out, "phase      %s\n", p->phase->name);
	if (isinf(d->bytes_per_second)) {
		fprintf(out, "needs      the full speed of storage: no compute time is set\n");
		return;
	}
	put_rate(out, "needs", p, 1);
	if (d->target > 0 && d->target < 1)
		put_rate(out, "", p, d->target);
	if (d->seconds <= 0)
		return;
	fprintf(out, "takes      %s%s if storage keeps up", units_time(each, d->seconds),
		d->epochs ? " per epoch" : "");
	put_total(out, d, all);
	fputc('\n', out);
}

/* What a model of a store lets a training come to. */
static void put_expected(FILE *out, const struct plan_phase *p)
{
	const struct backend_ops *ops = p->stores[0].store->section->owner;
	const struct demand *d = &p->demand;
	char text[UNITS_TEXT_BYTES];

	if (d->expected_seconds <= 0)
		return;
	fprintf(out, "at best    %s per epoch", units_time(text, d->expected_seconds));
	if (d->expected_au > 0)
		fprintf(out, " · AU %.1f %%", d->expected_au * 100);
	fprintf(out,
		", as %s:// is set up, if each request takes the average; haul simulate knows\n"
		"           what waits for the slowest\n",
		ops->scheme);
}

/* Phases that have no steps: what they move, and for how long they may. */
static void put_moves(FILE *out, const struct plan *plan)
{
	const char *label = "moves";
	char text[UNITS_TEXT_BYTES];
	uint32_t i;

	for (i = 0; i < plan->phase_count; i++) {
		const struct demand *d = &plan->phases[i].demand;

		if (d->epochs || (d->bytes <= 0 && d->seconds <= 0 && d->seconds_limit <= 0))
			continue;
		fprintf(out, "%-11s%s", label, plan->phases[i].phase->name);
		if (d->bytes > 0)
			fprintf(out, " · %s", units_bytes_decimal(text, d->bytes));
		if (plan_creates(&plan->phases[i]) >= LEAST_RATE / 10)
			fprintf(out, " · %s creates/s at each GB/s",
				units_short(text, plan_creates(&plan->phases[i])));
		if (d->seconds > 0)
			fprintf(out, " · at its rate %s", units_time(text, d->seconds));
		if (d->seconds_limit > 0)
			fprintf(out, " · ends after %s", units_time(text, d->seconds_limit));
		fputc('\n', out);
		label = "";
	}
}

static void put_pauses(FILE *out, const struct plan *plan)
{
	const char *label = "pauses";
	char text[UNITS_TEXT_BYTES];

	for (uint32_t i = 1; i < plan->phase_count; i++) {
		const struct job_phase *phase = plan->phases[i].phase;
		uint64_t after_ns = job_phase_after_ns(phase, plan->phases[i - 1].phase);

		if (!after_ns)
			continue;
		fprintf(out, "%-11s%s before %s\n", label, units_time(text, (double)after_ns / 1e9),
			phase->name);
		label = "";
	}
}

static void put_space(FILE *out, const struct plan *plan)
{
	const char *label = "space";
	uint32_t i, k;

	for (i = 0; i < plan->phase_count; i++)
		for (k = 0; k < plan->phases[i].store_count; k++) {
			char text[SPACE_BYTES];
			bool lacking;

			if (!space_sentence(&plan->phases[i].stores[k], text, &lacking))
				continue;
			fprintf(out, "%-11s%s\n", label, text);
			label = "";
		}
}

static void put_folders(FILE *out, const struct datasize *s)
{
	char folders[UNITS_TEXT_BYTES], files[UNITS_COUNTED_BYTES];

	if (!s->folders)
		return;
	units_counted(files, s->files_per_folder, "file");
	if (s->folders == 1)
		fprintf(out, "           %s in one folder", files);
	else
		fprintf(out, "           %s folders of %s each", units_count(folders, s->folders),
			files);
	if (s->advised_folders > 1 && s->folders < s->advised_folders)
		fprintf(out, "; for this many files mlpstorage advises %s",
			units_count(folders, s->advised_folders));
	fputc('\n', out);
}

/* The size of data set that MLPerf's rules require, and whether the data set has it. */
static void put_datasize(FILE *out, const struct plan *plan, const struct job *job,
			 const struct plan_phase *p)
{
	char files[UNITS_COUNTED_BYTES], decimal[UNITS_TEXT_BYTES], binary[UNITS_TEXT_BYTES];
	char text[SPACE_BYTES], rule[128], has[UNITS_TEXT_BYTES];
	struct phase_store needed = {0};
	struct datasize s;
	bool lacking;

	if (!datasize_of(plan, job, p, &s))
		return;
	if (s.files == s.files_memory)
		snprintf(rule, sizeof(rule), "%g × %s of %smemory × %u node%s",
			 plan->sizes.memories, units_bytes_binary(has, plan->node_memory_bytes),
			 plan->node_memory_told ? "" : "this node's ", plan->nodes,
			 plan->nodes == 1 ? "" : "s");
	else
		snprintf(rule, sizeof(rule), "%g steps per epoch", plan->sizes.steps);
	fprintf(out, "MLPerf     wants %s · %s (%s): %s\n", units_counted(files, s.files, "file"),
		units_bytes_decimal(decimal, s.bytes), units_bytes_binary(binary, s.bytes), rule);
	put_folders(out, &s);
	if (s.has >= s.files)
		return;
	needed.store = s.store;
	needed.space_bytes = s.bytes;
	needed.inodes = s.inodes;
	fprintf(out, "           this data set has %s; what MLPerf wants takes\n",
		units_count(files, s.has));
	if (space_sentence(&needed, text, &lacking))
		fprintf(out, "           %s\n", text);
}

static void put_classes(FILE *out, const struct plan *plan)
{
	char text[256];

	for (uint32_t i = 0; i < plan->class_count; i++) {
		class_say(text, sizeof(text), &plan->classes[i]);
		fprintf(out, "%-11s%s%s%s\n", i ? "" : "class",
			plan->class_count > 1 ? plan->classes[i].phase : "",
			plan->class_count > 1 ? ": " : "", text);
	}
}

static void put_notes(FILE *out, const struct plan *plan, const struct job *job)
{
	struct notes notes;
	unsigned i;

	notes_gather(&notes, plan, job);
	for (i = 0; i < notes.count; i++)
		fprintf(out, "%-11s%s\n", i ? "" : "notes", notes.text[i]);
}

char *plan_text(const struct plan *plan, const struct job *job)
{
	unsigned stepped = 0, needing = 0;
	char *text = NULL;
	size_t bytes;
	FILE *out;
	uint32_t i;

	out = open_memstream(&text, &bytes);
	if (!out)
		return NULL;
	for (i = 0; i < plan->phase_count; i++) {
		stepped += plan->phases[i].demand.epochs ? 1 : 0;
		needing += plan->phases[i].demand.bytes_per_second > 0 ? 1 : 0;
	}
	put_job(out, plan, job);
	for (i = 0; i < job->dataset_count; i++) {
		put_dataset(out, job, &job->datasets[i]);
		put_found(out, job, &job->datasets[i]);
	}
	put_interfaces(out, job);
	put_ranks(out, plan, stepped);
	put_results(out, plan);
	for (i = 0; i < plan->phase_count; i++) {
		put_needs(out, &plan->phases[i], needing > 1);
		put_expected(out, &plan->phases[i]);
	}
	put_moves(out, plan);
	plan_together_text(out, plan);
	put_pauses(out, plan);
	for (i = 0; i < plan->phase_count; i++)
		plan_rows_text(out, &plan->phases[i]);
	put_space(out, plan);
	for (i = 0; i < plan->phase_count; i++)
		put_datasize(out, plan, job, &plan->phases[i]);
	put_classes(out, plan);
	put_notes(out, plan, job);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
