/* SPDX-License-Identifier: Apache-2.0 */
/* Space for new files on a file store, as seen from this machine. See notes.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "backends/backend.h"
#include "core/units.h"
#include "core/uri.h"
#include "plan/space.h"

/* Shortens the path to its nearest parent folder that exists. */
static bool nearest_parent(char *path, struct statvfs *found)
{
	while (statvfs(path, found) < 0) {
		char *slash = strrchr(path, '/');

		if (strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
			return false;
		if (!slash)
			strcpy(path, ".");
		else if (slash == path)
			path[1] = '\0';
		else
			*slash = '\0';
	}
	return true;
}

/* A file system is looked at where it lies. */
static bool has_path(const struct job_store *store)
{
	return strcmp(store->section->name, "file") == 0 ||
	       strcmp(store->section->name, "direct") == 0;
}

bool space_path(const struct job_store *store, struct space *s)
{
	static const struct rank_place first = {.ranks = 1, .nodes = 1, .local_ranks = 1};
	const struct store_options *common = store->options;
	struct err err = {0};
	char uri[URI_BYTES];

	if (!has_path(store) || !common->uri.count) {
		snprintf(s->why, sizeof(s->why), "%s", store->section->name);
		return false;
	}
	if (uri_expand(common->uri.items[0], &first, uri, &err) < 0 || !strstr(uri, "://")) {
		snprintf(s->why, sizeof(s->why), "%.160s", err.text);
		return false;
	}
	snprintf(s->path, sizeof(s->path), "%s", strstr(uri, "://") + 3);
	if (!s->path[0])
		strcpy(s->path, ".");
	return true;
}

bool space_look(const struct job_store *store, struct space *s)
{
	char given[SPACE_PATH_BYTES], *whole;
	struct statvfs fs;

	memset(s, 0, sizeof(*s));
	if (!space_path(store, s))
		return false;
	memcpy(given, s->path, sizeof(given));
	if (!nearest_parent(s->path, &fs)) {
		snprintf(s->why, sizeof(s->why), "no folder of %.100s exists", given);
		return false;
	}
	whole = realpath(s->path, NULL);
	if (whole)
		snprintf(s->path, sizeof(s->path), "%s", whole);
	free(whole);
	s->free_bytes = (double)fs.f_bavail * (double)fs.f_frsize;
	s->free_inodes = fs.f_favail;
	s->inodes_counted = fs.f_files != 0;
	return true;
}

/* Whether the phase's data set was already begun: the folder of the file store has its object. */
static bool space_begun(const struct phase_store *d)
{
	struct space s = {0};
	char path[SPACE_PATH_BYTES + OBJECT_KEY_BYTES];

	if (!d->begun[0] || !space_path(d->store, &s))
		return false;
	snprintf(path, sizeof(path), "%s/%s", s.path, d->begun);
	return access(path, F_OK) == 0;
}

int plan_check_space(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		     uint32_t nodes, struct err *err)
{
	struct phase_store stores[PHASE_STORES_MAX];
	uint32_t count;
	int rc = plan_phase_space(job, phase, ranks, nodes, NULL, stores, &count, err);

	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		char text[SPACE_BYTES];
		bool lacking;

		if (space_sentence(&stores[i], text, &lacking) && lacking &&
		    !space_begun(&stores[i]))
			rc = err_set(
				err, -ENOSPC,
				"%s: not enough space: it needs %s (--ignore-space runs it anyway)",
				phase->path, text);
	}
	return rc;
}

/* The store itself has answered, or said why it cannot. */
static bool space_told(const struct phase_store *d, const char *wanted, char text[SPACE_BYTES],
		       bool *lacking)
{
	char bytes[UNITS_TEXT_BYTES];

	if (d->told < 0) {
		snprintf(text, SPACE_BYTES, "%s: not checked (%.200s)", wanted, d->told_why);
		return true;
	}
	*lacking = d->free_bytes < d->space_bytes;
	snprintf(text, SPACE_BYTES, "%s: the pool of %s has %s%s free", wanted, d->store->name,
		 *lacking ? "only " : "", units_bytes_decimal(bytes, d->free_bytes));
	return true;
}

bool space_sentence(const struct phase_store *d, char text[SPACE_BYTES], bool *lacking)
{
	const struct backend_ops *ops = d->store->section->owner;
	char bytes[UNITS_TEXT_BYTES], inodes[UNITS_COUNTED_BYTES], wanted[128], more[96] = "";
	struct space s;

	*lacking = false;
	if (d->space_bytes <= 0 && !d->inodes)
		return false;
	units_bytes_decimal(bytes, d->space_bytes);
	/* Objects of an object store have none. */
	units_counted(inodes, d->inodes, ops->capabilities & BACKEND_RENAME ? "inode" : "object");
	snprintf(wanted, sizeof(wanted), "%s and %s", bytes, inodes);
	if (d->told)
		return space_told(d, wanted, text, lacking);
	if (!space_look(d->store, &s)) {
		snprintf(text, SPACE_BYTES, "%s: not checked (%.200s)", wanted, s.why);
		return true;
	}
	*lacking = s.free_bytes < d->space_bytes || (s.inodes_counted && s.free_inodes < d->inodes);
	units_bytes_decimal(bytes, s.free_bytes);
	units_counted(inodes, s.free_inodes, "inode");
	if (s.inodes_counted)
		snprintf(more, sizeof(more), " and %s", inodes);
	snprintf(text, SPACE_BYTES, "%s: %.100s has %s%s%s free", wanted, s.path,
		 *lacking ? "only " : "", bytes, more);
	return true;
}

/* A plan is not worth a longer wait. */
#define SPACE_PATIENCE_NS UINT64_C(5000000000)

static void space_ask(struct phase_store *d, struct store_process *process)
{
	static const struct rank_place place = {.ranks = 1, .nodes = 1, .local_ranks = 1};
	struct store_space space = {0};
	struct err err = {0};
	struct store store;
	struct clock clock;
	struct log log;

	clock_init(&clock);
	log_init(&log, -1, LOG_ERROR, 0, 1);
	d->told = store_open(&store, d->store,
			     &(struct store_opener){.place = &place,
						    .clock = &clock,
						    .log = &log,
						    .process = process,
						    .patience_ns = SPACE_PATIENCE_NS,
						    .constant = true},
			     &err);
	if (d->told == 0) {
		d->told = store_space(&store, &space);
		if (d->told < 0)
			err_set(&err, d->told, "%s: tells nothing of its space: %s", store.uri,
				strerror(-d->told));
		store_close(&store);
	}
	d->told = d->told < 0 ? d->told : 1;
	d->free_bytes = (double)space.free_bytes;
	snprintf(d->told_why, sizeof(d->told_why), "%.*s", (int)sizeof(d->told_why) - 1, err.text);
}

/* What was found for the same store before. */
static bool space_asked(const struct plan *plan, uint32_t phases, struct phase_store *d)
{
	for (uint32_t i = 0; i < phases; i++)
		for (uint32_t k = 0; k < plan->phases[i].store_count; k++) {
			const struct phase_store *had = &plan->phases[i].stores[k];

			if (had == d || had->store != d->store || !had->told)
				continue;
			d->told = had->told;
			d->free_bytes = had->free_bytes;
			memcpy(d->told_why, had->told_why, sizeof(d->told_why));
			return true;
		}
	return false;
}

void plan_ask_space(struct plan *plan)
{
	struct store_process process = {0};

	for (uint32_t i = 0; i < plan->phase_count; i++)
		for (uint32_t k = 0; k < plan->phases[i].store_count; k++) {
			struct phase_store *d = &plan->phases[i].stores[k];
			const struct backend_ops *ops = d->store->section->owner;

			if (!ops->space || (d->space_bytes <= 0 && !d->inodes) ||
			    has_path(d->store) || space_asked(plan, i + 1, d))
				continue;
			space_ask(d, &process);
		}
	backends_process_end(&process);
}
