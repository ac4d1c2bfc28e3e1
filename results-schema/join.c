/* SPDX-License-Identifier: Apache-2.0 */
/* Joining a series: see join.h. */
#include "results-schema/join.h"

#include "results-schema/results_read.h"
#include "results-schema/side_phase.h"

/* The name stays, and so does its place among the others. */
static void join_phase(struct h5_writer *w, struct h5_reader *phases, uint64_t i, const char *path)
{
	hid_t at = h5r_at(phases);
	char name[128];

	h5r_member(phases, i, name, sizeof(name));
	if (!side_phase_enter(phases, name, path))
		return;
	if (H5Ldelete(at, name, H5P_DEFAULT) < 0 ||
	    H5Ocopy(h5r_at(phases), ".", at, name, H5P_DEFAULT, H5P_DEFAULT) < 0)
		h5w_failed(w, "cannot copy /phases/%s from its side file", name);
}

void join_side_files(struct h5_writer *w, const char *path)
{
	struct h5_reader phases;
	struct err err = {0};
	uint64_t count;

	h5r_begin(&phases, H5Gopen2(h5w_at(w), "/phases", H5P_DEFAULT), &err);
	count = h5r_members(&phases, RESULTS_PHASES_MAX);
	for (uint64_t i = 0; w->rc == 0 && phases.rc == 0 && i < count; i++) {
		join_phase(w, &phases, i, path);
		if (phases.depth)
			h5r_leave(&phases);
	}
	if (h5r_finish(&phases) < 0)
		h5w_error(w, phases.rc, err.text);
	else if (H5Arename(h5w_at(w), "series", "joined") < 0)
		h5w_failed(w, "cannot join the runs");
}
