/* SPDX-License-Identifier: Apache-2.0 */
/* Group of a phase, in a side file or not: see side_phase.h. */
#include "results-schema/side_phase.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "results-schema/h5.h"
#include "results-schema/side_files.h"

enum { LINK_BYTES_MAX = 65536 };

static void enter_side(struct h5_reader *r, const char *file, const char *object)
{
	hid_t side = h5r_file(file);

	if (side < 0)
		h5r_error(r, -EINVAL, "its side file %s cannot be opened by HDF5", file);
	else if (H5Lexists(side, "phases", H5P_DEFAULT) <= 0 ||
		 H5Lexists(side, object, H5P_DEFAULT) <= 0)
		h5r_error(r, -EINVAL, "its side file %s does not have it", file);
	else
		h5r_enter_open(r, H5Gopen2(side, object, H5P_DEFAULT), object);
	/* The group keeps the file open. */
	h5_close(side);
}

static uint64_t follow(struct h5_reader *r, const char *link, const char *object, const char *path)
{
	char *file = side_file_linked(path, link);
	struct stat st = {.st_size = 0};

	if (!file)
		h5r_error(r, -EINVAL, "it is a link to %.200s, which is no side file", link);
	else if (stat(file, &st) < 0)
		h5r_error(r, -EINVAL,
			  "its side file %s is missing (%s); it belongs beside this file", file,
			  strerror(errno));
	else if (!S_ISREG(st.st_mode))
		h5r_error(r, -EINVAL, "its side file %s is not a regular file", file);
	else
		enter_side(r, file, object);
	free(file);
	return (uint64_t)st.st_size;
}

/* Where the link leads, as HDF5 keeps it; NULL: it is none to a file. The caller frees it. */
static char *link_value(struct h5_reader *r, const char *name, const H5L_info_t *info,
			const char **file, const char **object)
{
	char *value = h5r_room(r, info->u.val_size, 1);
	unsigned flags;

	if (value && (H5Lget_val(h5r_at(r), name, value, info->u.val_size, H5P_DEFAULT) < 0 ||
		      H5Lunpack_elink_val(value, info->u.val_size, &flags, file, object) < 0)) {
		h5r_failed(r, "the link %s cannot be read", name);
		free(value);
		return NULL;
	}
	return value;
}

bool side_phase_gone(struct h5_reader *r, const char *name, const char *path)
{
	const char *link, *object;
	char *value, *file;
	H5L_info_t info;
	struct stat st;
	bool gone;

	if (r->rc < 0 || H5Lget_info(h5r_at(r), name, &info, H5P_DEFAULT) < 0 ||
	    info.type != H5L_TYPE_EXTERNAL || info.u.val_size > LINK_BYTES_MAX)
		return false;
	value = link_value(r, name, &info, &link, &object);
	file = value ? side_file_linked(path, link) : NULL;
	gone = file && stat(file, &st) < 0 && errno == ENOENT;
	free(file);
	free(value);
	return gone;
}

uint64_t side_phase_enter(struct h5_reader *r, const char *name, const char *path)
{
	const char *file, *object;
	uint64_t bytes = 0;
	H5L_info_t info;
	char *value;

	if (r->rc < 0)
		return 0;
	if (H5Lget_info(h5r_at(r), name, &info, H5P_DEFAULT) < 0)
		h5r_failed(r, "%s cannot be opened", name);
	else if (info.type == H5L_TYPE_HARD)
		h5r_enter(r, name);
	else if (info.type != H5L_TYPE_EXTERNAL || info.u.val_size > LINK_BYTES_MAX)
		h5r_error(r, -EINVAL, "%s: it is a link to somewhere else", name);
	if (r->rc < 0 || info.type == H5L_TYPE_HARD)
		return 0;
	value = link_value(r, name, &info, &file, &object);
	if (value)
		bytes = follow(r, file, object, path);
	free(value);
	return bytes;
}
