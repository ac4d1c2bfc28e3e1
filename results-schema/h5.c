/* SPDX-License-Identifier: Apache-2.0 */
/* HDF5 in haul's terms: see h5.h. */
#include "results-schema/h5.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* HDF5's own size of a conversion buffer. */
enum { H5_CONVERSION_MAX = 1 << 20 };

/* The text of the innermost failure, and whether it is a full disk: drivers put the errno into
 * text. */
struct cause {
	char text[256];
	bool no_space;
};

static herr_t note_cause(unsigned n, const H5E_error2_t *e, void *argument)
{
	struct cause *cause = argument;

	if (!e->desc)
		return 0;
	if (n == 0)
		snprintf(cause->text, sizeof(cause->text), "%s", e->desc);
	if (strstr(e->desc, "errno = 28,") || strstr(e->desc, "No space left"))
		cause->no_space = true;
	return 0;
}

int h5_fail(struct err *err, const char *format, ...)
{
	va_list arguments;
	int rc;

	va_start(arguments, format);
	rc = h5_vfail(err, format, arguments);
	va_end(arguments);
	return rc;
}

int h5_vfail(struct err *err, const char *format, va_list arguments)
{
	struct cause cause = {.text = "no cause given"};
	char sentence[512];

	H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, note_cause, &cause);
	H5Eclear2(H5E_DEFAULT);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	if (cause.no_space)
		return err_set(err, -ENOSPC, "%s: no space left on device", sentence);
	return err_set(err, -EIO, "%s: HDF5: %s", sentence, cause.text);
}

void h5_close(hid_t object)
{
	if (object >= 0)
		H5Idec_ref(object);
}

void h5_quiet(void)
{
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

hid_t h5_file_access(void)
{
	hid_t list = H5Pcreate(H5P_FILE_ACCESS);

	h5_quiet();
	if (list >= 0 && H5Pset_libver_bounds(list, H5F_LIBVER_V18, H5F_LIBVER_V18) < 0) {
		H5Pclose(list);
		return H5I_INVALID_HID;
	}
	return list;
}

/* What was made when is told by the run, so that equal results are equal bytes. Attributes and links stay in the object's header: there are few of them, they are read together,
 * and no B-tree is needed that many ranks would have to change in the same way. */
hid_t h5_group_properties(hid_t class)
{
	hid_t list = H5Pcreate(class);

	if (list >= 0 && (H5Pset_attr_phase_change(list, 1024, 512) < 0 ||
			  H5Pset_obj_track_times(list, false) < 0 ||
			  H5Pset_link_phase_change(list, 1024, 512) < 0)) {
		H5Pclose(list);
		return H5I_INVALID_HID;
	}
	return list;
}

hid_t h5_text_type(size_t bytes)
{
	hid_t type = H5Tcopy(H5T_C_S1);

	if (type >= 0 &&
	    (H5Tset_size(type, bytes ? bytes : 1) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0 ||
	     H5Tset_strpad(type, H5T_STR_NULLTERM) < 0)) {
		H5Tclose(type);
		return H5I_INVALID_HID;
	}
	return type;
}

hid_t h5_transfer(hid_t data_set, hid_t type, hssize_t count)
{
	hid_t list = H5Pcreate(H5P_DATASET_XFER), stored = H5Dget_type(data_set);
	size_t in_file = stored < 0 ? 0 : H5Tget_size(stored), in_memory = H5Tget_size(type);
	size_t element = in_file > in_memory ? in_file : in_memory, bytes = H5_CONVERSION_MAX;

	h5_close(stored);
	if (count >= 0 && element && (size_t)count < bytes / element)
		bytes = (size_t)count * element;
	if (list >= 0 && H5Pset_buffer(list, bytes > element ? bytes : element, NULL, NULL) < 0) {
		H5Pclose(list);
		return H5I_INVALID_HID;
	}
	return list;
}

void h5_give_back(void)
{
	H5garbage_collect();
}

int h5_divert(const char *path, int rc, struct err *err)
{
	char link[64], target[4096], *whole = realpath(path, NULL);
	DIR *folder = opendir("/proc/self/fd");
	int nowhere = memfd_create("haul", MFD_CLOEXEC);
	struct dirent *entry;

	while (folder && whole && nowhere >= 0 && (entry = readdir(folder))) {
		int fd = atoi(entry->d_name);
		ssize_t n;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = '\0';
		if (strcmp(target, whole) != 0)
			continue;
		if (rc == 0 && TEMP_FAILURE_RETRY(fsync(fd)) < 0 && errno != EINVAL)
			rc = err_set(err, -errno, "results file %s cannot be written: %s", path,
				     strerror(errno));
		dup2(nowhere, fd);
	}
	if (folder)
		closedir(folder);
	if (nowhere >= 0)
		close(nowhere);
	free(whole);
	return rc;
}
