/* Group of a phase, in a side file or not: see side_phase.h. */
#include "results-schema/side_phase.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "results-schema/h5.h"
#include "results-schema/h5_read.h"
#include "results-schema/side_files.h"

enum { LINK_BYTES_MAX = 65536 };

static int open_side(struct side_phase *s, const char *link, const char *object, const char *path,
		     struct err *err)
{
	char *file = side_file_linked(path, link);
	struct stat st;
	int rc = 0;

	if (!file)
		return err_set(err, -EINVAL, "it is a link to %.200s, which is no side file", link);
	if (stat(file, &st) < 0)
		rc = err_set(err, -EINVAL,
			     "its side file %s is missing (%s); it belongs beside this file", file,
			     strerror(errno));
	else if (!S_ISREG(st.st_mode))
		rc = err_set(err, -EINVAL, "its side file %s is not a regular file", file);
	if (rc == 0) {
		s->file_bytes = (uint64_t)st.st_size;
		s->file = h5_read_open(file);
		if (s->file < 0)
			rc = err_set(err, -EINVAL, "its side file %s cannot be opened by HDF5",
				     file);
	}
	if (rc == 0) {
		s->phase = H5Gopen2(s->file, object, H5P_DEFAULT);
		if (s->phase < 0)
			rc = err_set(err, -EINVAL, "its side file %s does not have it", file);
	}
	H5Eclear2(H5E_DEFAULT);
	free(file);
	return rc;
}

static int follow(struct side_phase *s, hid_t phases, const char *name, size_t bytes,
		  const char *path, struct err *err)
{
	char *value = bytes && bytes <= LINK_BYTES_MAX ? calloc(1, bytes + 1) : NULL;
	const char *file, *object;
	unsigned flags;
	int rc;

	if (!value || H5Lget_val(phases, name, value, bytes, H5P_DEFAULT) < 0 ||
	    H5Lunpack_elink_val(value, bytes, &flags, &file, &object) < 0)
		rc = h5_fail(err, "its link cannot be read");
	else
		rc = open_side(s, file, object, path, err);
	free(value);
	return rc;
}

int side_phase_open(struct side_phase *s, hid_t phases, const char *name, const char *path,
		    struct err *err)
{
	H5L_info_t info;

	*s = (struct side_phase){.phase = H5I_INVALID_HID, .file = H5I_INVALID_HID};
	if (H5Lget_info(phases, name, &info, H5P_DEFAULT) < 0)
		return h5_fail(err, "it cannot be opened");
	if (info.type == H5L_TYPE_EXTERNAL)
		return follow(s, phases, name, info.u.val_size, path, err);
	if (info.type != H5L_TYPE_HARD)
		return err_set(err, -EINVAL, "it is a link to somewhere else");
	s->phase = H5Gopen2(phases, name, H5P_DEFAULT);
	return s->phase < 0 ? h5_fail(err, "it cannot be opened") : 0;
}

void side_phase_close(struct side_phase *s)
{
	if (s->phase >= 0)
		H5Gclose(s->phase);
	if (s->file >= 0)
		H5Fclose(s->file);
}
