/* Joining a series: see join.h. */
#include "results-schema/join.h"

#include "results-schema/h5.h"
#include "results-schema/side_phase.h"

/* The name stays, and so does its place among the others. */
static void join_phase(struct h5_writer *w, hid_t phases, const char *name, const char *path)
{
	struct side_phase side;
	struct err err = {0};
	int rc = side_phase_open(&side, phases, name, path, &err);

	if (rc < 0)
		h5w_error(w, rc, err.text);
	else if (side.file >= 0 &&
		 (H5Ldelete(phases, name, H5P_DEFAULT) < 0 ||
		  H5Ocopy(side.phase, ".", phases, name, H5P_DEFAULT, H5P_DEFAULT) < 0))
		h5w_failed(w, "cannot copy /phases/%s from its side file", name);
	side_phase_close(&side);
}

void join_side_files(struct h5_writer *w, const char *path)
{
	hid_t phases = H5Gopen2(h5w_at(w), "/phases", H5P_DEFAULT);
	H5G_info_t info = {.nlinks = 0};

	if (H5Gget_info(phases, &info) < 0)
		h5w_failed(w, "cannot join the runs");
	for (hsize_t i = 0; w->rc == 0 && i < info.nlinks; i++) {
		char name[128] = "";

		if (H5Lget_name_by_idx(phases, ".", H5_INDEX_NAME, H5_ITER_INC, i, name,
				       sizeof(name), H5P_DEFAULT) < 0)
			h5w_failed(w, "cannot join the runs");
		else
			join_phase(w, phases, name, path);
	}
	if (H5Adelete(h5w_at(w), "series") < 0)
		h5w_failed(w, "cannot join the runs");
	h5_close(phases);
}
