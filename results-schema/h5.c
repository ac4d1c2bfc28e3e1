/* HDF5 in haul's terms: see h5.h. */
#include "results-schema/h5.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/utf8.h"
#include "results-schema/h5_driver.h"

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
	struct cause cause = {.text = "no cause given"};
	char sentence[512];
	va_list arguments;

	H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, note_cause, &cause);
	H5Eclear2(H5E_DEFAULT);
	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	if (cause.no_space)
		return err_set(err, -ENOSPC, "%s: no space left on device", sentence);
	return err_set(err, -EIO, "%s: HDF5: %s", sentence, cause.text);
}

void h5_quiet(void)
{
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

hid_t h5_file_access(void)
{
	hid_t list = H5Pcreate(H5P_FILE_ACCESS);

	if (list >= 0 && H5Pset_libver_bounds(list, H5F_LIBVER_V18, H5F_LIBVER_V18) < 0) {
		H5Pclose(list);
		return H5I_INVALID_HID;
	}
	return list;
}

/* Attributes and links stay in the object's header: there are few of them, they are read together,
 * and no B-tree is needed that many ranks would have to change in the same way. */
hid_t h5_group_properties(hid_t class)
{
	hid_t list = H5Pcreate(class);

	if (list >= 0 && (H5Pset_attr_phase_change(list, 1024, 512) < 0 ||
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

static int attribute(hid_t at, const char *name, hid_t type, hid_t space, const void *value,
		     struct err *err)
{
	hid_t attr = H5I_INVALID_HID;
	int rc = 0;

	if (type < 0 || space < 0 || (H5Aexists(at, name) > 0 && H5Adelete(at, name) < 0))
		return h5_fail(err, "cannot write the attribute %s", name);
	attr = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	if (attr < 0 || H5Awrite(attr, type, value) < 0)
		rc = h5_fail(err, "cannot write the attribute %s", name);
	if (attr >= 0)
		H5Aclose(attr);
	return rc;
}

static int scalar_attribute(hid_t at, const char *name, hid_t type, const void *value,
			    struct err *err)
{
	hid_t space = H5Screate(H5S_SCALAR);
	int rc = attribute(at, name, type, space, value, err);

	if (space >= 0)
		H5Sclose(space);
	return rc;
}

int h5_attr_text(hid_t at, const char *name, const char *text, struct err *err)
{
	char cut[H5_TEXT_MAX];
	hid_t type;
	int rc;

	utf8_copy(cut, sizeof(cut), text);
	type = h5_text_type(strlen(cut) + 1);
	rc = scalar_attribute(at, name, type, cut, err);
	if (type >= 0)
		H5Tclose(type);
	return rc;
}

int h5_attr_u64(hid_t at, const char *name, uint64_t value, struct err *err)
{
	return scalar_attribute(at, name, H5T_NATIVE_UINT64, &value, err);
}

int h5_attr_real(hid_t at, const char *name, double value, struct err *err)
{
	return scalar_attribute(at, name, H5T_NATIVE_DOUBLE, &value, err);
}

int h5_attr_texts(hid_t at, const char *name, const char *const *texts, size_t count,
		  struct err *err)
{
	char all[H5_TEXT_MAX] = {0};
	size_t width = 1;
	hsize_t n = count;
	hid_t type, space;
	int rc;

	for (size_t i = 0; i < count; i++)
		width = strlen(texts[i]) + 1 > width ? strlen(texts[i]) + 1 : width;
	if (!count || width * count > sizeof(all))
		return err_set(err, -E2BIG, "the attribute %s has no values or too many", name);
	for (size_t i = 0; i < count; i++)
		strcpy(all + i * width, texts[i]);
	type = h5_text_type(width);
	space = H5Screate_simple(1, &n, NULL);
	rc = attribute(at, name, type, space, all, err);
	if (space >= 0)
		H5Sclose(space);
	if (type >= 0)
		H5Tclose(type);
	return rc;
}

int h5_group(hid_t at, const char *name, hid_t *out, struct err *err)
{
	hid_t list = h5_group_properties(H5P_GROUP_CREATE);

	*out = list < 0 ? H5I_INVALID_HID : H5Gcreate2(at, name, H5P_DEFAULT, list, H5P_DEFAULT);
	if (list >= 0)
		H5Pclose(list);
	return *out < 0 ? h5_fail(err, "cannot make the group %s", name) : 0;
}

int h5_dataset(hid_t at, const char *name, hid_t type, int rank, const hsize_t *dims, hid_t *out,
	       struct err *err)
{
	hid_t list = H5Pcreate(H5P_DATASET_CREATE);
	hid_t space = H5Screate_simple(rank, dims, NULL);

	*out = H5I_INVALID_HID;
	if (list >= 0 && space >= 0 && H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY) >= 0 &&
	    H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) >= 0 &&
	    H5Pset_attr_phase_change(list, 1024, 512) >= 0)
		*out = H5Dcreate2(at, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
	if (space >= 0)
		H5Sclose(space);
	if (list >= 0)
		H5Pclose(list);
	return *out < 0 ? h5_fail(err, "cannot make the data set %s", name) : 0;
}

hid_t h5_transfer(hid_t data_set, hid_t type, hssize_t count)
{
	hid_t list = H5Pcreate(H5P_DATASET_XFER), stored = H5Dget_type(data_set);
	size_t in_file = stored < 0 ? 0 : H5Tget_size(stored), in_memory = H5Tget_size(type);
	size_t element = in_file > in_memory ? in_file : in_memory, bytes = H5_CONVERSION_MAX;

	if (stored >= 0)
		H5Tclose(stored);
	if (count >= 0 && element && (size_t)count < bytes / element)
		bytes = (size_t)count * element;
	if (list >= 0 && H5Pset_buffer(list, bytes > element ? bytes : element, NULL, NULL) < 0) {
		H5Pclose(list);
		return H5I_INVALID_HID;
	}
	return list;
}

int h5_write(hid_t dataset, hid_t type, const void *data, struct err *err)
{
	hid_t space = H5Dget_space(dataset);
	hssize_t count = space < 0 ? 0 : H5Sget_simple_extent_npoints(space);
	hid_t transfer = h5_transfer(dataset, type, count);
	int rc = 0;

	if (transfer < 0 || H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, transfer, data) < 0)
		rc = h5_fail(err, "cannot write a data set");
	if (transfer >= 0)
		H5Pclose(transfer);
	if (space >= 0)
		H5Sclose(space);
	return rc;
}

int h5_array(hid_t at, const char *name, hid_t type, hsize_t n, const void *data, const char *units,
	     struct err *err)
{
	hid_t dataset;
	int rc = h5_dataset(at, name, type, 1, &n, &dataset, err);

	if (rc == 0 && units)
		rc = h5_attr_text(dataset, "units", units, err);
	if (rc == 0)
		rc = h5_write(dataset, type, data, err);
	if (dataset >= 0)
		H5Dclose(dataset);
	return rc;
}

int h5_write_open(struct h5_file *f, const char *path, bool create, struct err *err)
{
	hid_t access = h5_file_access(), creation = h5_group_properties(H5P_FILE_CREATE);

	*f = (struct h5_file){.id = H5I_INVALID_HID, .path = path};
	if (access >= 0 && creation >= 0 && h5_driver_set(access, &f->error) >= 0)
		f->id = create ? H5Fcreate(path, H5F_ACC_TRUNC, creation, access)
			       : H5Fopen(path, H5F_ACC_RDWR, access);
	if (access >= 0)
		H5Pclose(access);
	if (creation >= 0)
		H5Pclose(creation);
	if (f->id >= 0)
		return 0;
	return h5_fail(err, "results file %s cannot be %s", path, create ? "made" : "opened");
}

int h5_write_close(struct h5_file *f, int rc, struct err *err)
{
	if (f->id >= 0 && H5Fclose(f->id) < 0 && rc == 0)
		rc = h5_fail(err, "results file %s cannot be written", f->path);
	f->id = H5I_INVALID_HID;
	H5Eclear2(H5E_DEFAULT);
	h5_give_back();
	/* Returns the first failure, whatever HDF5 made of it. */
	if (f->error)
		rc = err_set(err, f->error, "results file %s cannot be written: %s", f->path,
			     strerror(-f->error));
	return rc;
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
		if (rc == 0 && fsync(fd) < 0 && errno != EINVAL)
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
