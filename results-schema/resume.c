/* SPDX-License-Identifier: Apache-2.0 */
/* Results of an interrupted series that are gone on with: see struct results_kept. */
#include <errno.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results-schema/file_head.h"
#include "results-schema/h5_reader.h"
#include "results-schema/h5_writer.h"
#include "results-schema/results_read.h"
#include "results-schema/results_state.h"

/* Rows are in the order of the numbers with which the names of phases begin. */
static void drop_phases(struct h5_writer *w, uint64_t kept)
{
	struct h5_reader phases;
	struct err err = {0};
	char name[RESULTS_MEMBER_BYTES];
	hsize_t rows = kept;
	uint64_t count;

	h5w_enter(w, "/summary");
	if (w->rc == 0 && H5Dset_extent(h5w_at(w), &rows) < 0)
		h5w_failed(w, "cannot be cut");
	h5w_leave(w);
	if (w->rc < 0)
		return;
	h5r_begin(&phases, H5Gopen2(h5w_at(w), "/phases", H5P_DEFAULT), &err);
	count = h5r_members(&phases, RESULTS_PHASES_MAX);
	while (w->rc == 0 && phases.rc == 0 && count--) {
		h5r_member(&phases, count, name, sizeof(name));
		if (phases.rc == 0 && strtoull(name, NULL, 10) >= kept &&
		    H5Ldelete(h5r_at(&phases), name, H5P_DEFAULT) < 0)
			h5w_failed(w, "cannot remove /phases/%s", name);
	}
	if (h5r_finish(&phases) < 0)
		h5w_error(w, phases.rc, err.text);
}

/* The side files of an interrupted run were joined, or stand still. */
static void go_on_with_side_files(struct results *r, struct h5_writer *w)
{
	char *side;

	if (H5Aexists(h5w_at(w), "joined") > 0) {
		if (H5Adelete(h5w_at(w), "joined") < 0)
			h5w_failed(w, "cannot be gone on with");
		h5w_text(w, "series", r->key);
		return;
	}
	for (bool there = true; there;) {
		side = side_file_path(r->path, r->key, r->side_number + 1);
		there = side && access(side, F_OK) == 0;
		r->side_number += there;
		free(side);
	}
}

int results_resume(struct results *r, const struct results_kept *kept, struct err *err)
{
	char key[SERIES_KEY_BYTES] = "";
	struct h5_writer w;
	int rc = staging_copy(r->path, r->part, err);

	if (rc < 0)
		return rc;
	file_head_series(r->path, key);
	if (key[0])
		memcpy(r->key, key, sizeof(key));
	h5w_open(&w, r->part, false, err);
	h5w_text(&w, "status", "interrupted");
	h5w_text(&w, "error", "");
	h5w_u64(&w, "resumed", kept->times + 1);
	h5w_u64(&w, "resumed_after", kept->runs);
	drop_phases(&w, kept->phases);
	if (w.rc == 0)
		go_on_with_side_files(r, &w);
	rc = h5w_finish(&w);
	if (rc == 0)
		return staging_publish(r->part, r->path, false, err);
	unlink(r->part);
	return rc;
}
