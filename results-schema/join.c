/* Joining a series: see join.h. */
#include "results-schema/join.h"

#include "results-schema/h5.h"
#include "results-schema/side_phase.h"

/* The name stays, and so does its place among the others. */
static int join_phase(hid_t phases, const char *name, const char *path, struct err *err)
{
	struct side_phase side;
	int rc = side_phase_open(&side, phases, name, path, err);

	if (rc == 0 && side.file >= 0 &&
	    (H5Ldelete(phases, name, H5P_DEFAULT) < 0 ||
	     H5Ocopy(side.phase, ".", phases, name, H5P_DEFAULT, H5P_DEFAULT) < 0))
		rc = h5_fail(err, "cannot copy /phases/%s from its side file", name);
	side_phase_close(&side);
	return rc;
}

int join_side_files(hid_t file, const char *path, struct err *err)
{
	hid_t phases = H5Gopen2(file, "/phases", H5P_DEFAULT);
	H5G_info_t info = {.nlinks = 0};
	int rc = 0;

	if (phases < 0 || H5Gget_info(phases, &info) < 0)
		rc = h5_fail(err, "cannot join the runs");
	for (hsize_t i = 0; rc == 0 && i < info.nlinks; i++) {
		char name[128] = "";

		if (H5Lget_name_by_idx(phases, ".", H5_INDEX_NAME, H5_ITER_INC, i, name,
				       sizeof(name), H5P_DEFAULT) < 0)
			rc = h5_fail(err, "cannot join the runs");
		else
			rc = join_phase(phases, name, path, err);
	}
	if (rc == 0 && H5Adelete(file, "series") < 0)
		rc = h5_fail(err, "cannot join the runs");
	if (phases >= 0)
		H5Gclose(phases);
	return rc;
}
