/* SPDX-License-Identifier: Apache-2.0 */
/* Writer of HDF5 files: see h5_writer.h. */
#include "results-schema/h5_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/utf8.h"
#include "results-schema/h5.h"

/* HDF5 file driver with which rank 0 writes results.h5: plain reads and writes, whose failures are
 * hidden from HDF5.
 *
 * HDF5 cannot give up a file that it could not write: closing it fails, and the library crashes
 * when the process ends. So this driver remembers a write that fails (a full disk). From then on
 * writes are dropped and succeed, and the file is closed as usual. The code that closed it then
 * asks what went wrong and throws the file away. */

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

enum { H5_DEFLATE = 6 }; /* how hard it tries */

/* HDF5 requires its own part to come first. */
struct driver_file {
	H5FD_t pub;
	int fd;
	haddr_t eoa, eof;
	struct stat st;
	int *error;
};

struct driver_info {
	int *error;
};

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t fapl, haddr_t maxaddr)
{
	const struct driver_info *info = H5Pget_driver_info(fapl);
	struct driver_file *f = info ? calloc(1, sizeof(*f)) : NULL;
	int mode = flags & H5F_ACC_RDWR ? O_RDWR : O_RDONLY;

	(void)maxaddr;
	if (!f)
		return NULL;
	if (flags & H5F_ACC_TRUNC)
		mode |= O_TRUNC;
	if (flags & H5F_ACC_CREAT)
		mode |= O_CREAT;
	f->fd = open(name, mode | O_CLOEXEC, 0666);
	if (f->fd < 0 || fstat(f->fd, &f->st) < 0) {
		*info->error = -errno;
		if (f->fd >= 0)
			close(f->fd);
		free(f);
		return NULL;
	}
	f->eof = (haddr_t)f->st.st_size;
	f->error = info->error;
	return &f->pub;
}

static herr_t driver_close(H5FD_t *file)
{
	struct driver_file *f = (struct driver_file *)file;

	if (close(f->fd) < 0 && *f->error == 0)
		*f->error = -errno;
	free(f);
	return 0;
}

static int driver_compare(const H5FD_t *a, const H5FD_t *b)
{
	const struct stat *x = &((const struct driver_file *)a)->st;
	const struct stat *y = &((const struct driver_file *)b)->st;

	if (x->st_dev != y->st_dev)
		return x->st_dev < y->st_dev ? -1 : 1;
	return x->st_ino < y->st_ino ? -1 : x->st_ino > y->st_ino;
}

static herr_t driver_query(const H5FD_t *file, unsigned long *flags)
{
	(void)file;
	*flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
		 H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA |
		 H5FD_FEAT_POSIX_COMPAT_HANDLE | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
	return 0;
}

static haddr_t driver_get_eoa(const H5FD_t *file, H5FD_mem_t type)
{
	(void)type;
	return ((const struct driver_file *)file)->eoa;
}

static herr_t driver_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t address)
{
	(void)type;
	((struct driver_file *)file)->eoa = address;
	return 0;
}

static haddr_t driver_get_eof(const H5FD_t *file, H5FD_mem_t type)
{
	(void)type;
	return ((const struct driver_file *)file)->eof;
}

static herr_t driver_get_handle(H5FD_t *file, hid_t fapl, void **handle)
{
	(void)fapl;
	*handle = &((struct driver_file *)file)->fd;
	return 0;
}

/* Bytes beyond the end read as zeros. */
static herr_t driver_read(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t at, size_t size,
			  void *data)
{
	struct driver_file *f = (struct driver_file *)file;
	char *to = data;

	(void)type;
	(void)dxpl;
	while (size) {
		ssize_t n = pread(f->fd, to, size, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0) {
			memset(to, 0, size);
			break;
		}
		to += n;
		at += (haddr_t)n;
		size -= (size_t)n;
	}
	return 0;
}

static herr_t driver_write(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t at, size_t size,
			   const void *data)
{
	struct driver_file *f = (struct driver_file *)file;
	const char *from = data;

	(void)type;
	(void)dxpl;
	while (size && *f->error == 0) {
		ssize_t n = pwrite(f->fd, from, size, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			*f->error = n < 0 ? -errno : -EIO;
			break;
		}
		from += n;
		at += (haddr_t)n;
		size -= (size_t)n;
	}
	if (at + size > f->eof)
		f->eof = at + size;
	return 0;
}

static herr_t driver_truncate(H5FD_t *file, hid_t dxpl, hbool_t closing)
{
	struct driver_file *f = (struct driver_file *)file;

	(void)dxpl;
	(void)closing;
	if (f->eoa != f->eof && *f->error == 0 && ftruncate(f->fd, (off_t)f->eoa) < 0)
		*f->error = -errno;
	f->eof = f->eoa;
	return 0;
}

static const H5FD_class_t driver_class = {
#if H5_VERSION_GE(1, 13, 0)
	.version = H5FD_CLASS_VERSION,
	.value = H5_VFD_MAX,
#endif
	.name = "haul",
	.maxaddr = HADDR_MAX,
	.fc_degree = H5F_CLOSE_WEAK,
	.fapl_size = sizeof(struct driver_info),
	.open = driver_open,
	.close = driver_close,
	.cmp = driver_compare,
	.query = driver_query,
	.get_eoa = driver_get_eoa,
	.set_eoa = driver_set_eoa,
	.get_eof = driver_get_eof,
	.get_handle = driver_get_handle,
	.read = driver_read,
	.write = driver_write,
	.truncate = driver_truncate,
	.fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* Sets the driver in a file access property list. Errors of files opened with it are stored in
 * *error, a negative errno, which must outlive the file. Negative: failed. */
static herr_t h5_driver_set(hid_t access, int *error)
{
	const struct driver_info info = {error};
	hid_t driver = H5FDregister(&driver_class);
	herr_t rc;

	if (driver < 0)
		return -1;
	*error = 0;
	/* The property list keeps the driver and copies the contents of info. */
	rc = H5Pset_driver(access, driver, &info);
	H5FDunregister(driver);
	return rc;
}

/* Adds to the first error where it was met. */
static void writer_note_place(struct h5_writer *w)
{
	char path[256];

	if (w->depth && H5Iget_name(w->open[w->depth], path, sizeof(path)) > 0)
		err_wrap(w->err, w->rc, "results of %s", path);
}

void h5w_failed(struct h5_writer *w, const char *format, ...)
{
	va_list arguments;

	if (w->rc < 0)
		return;
	va_start(arguments, format);
	w->rc = h5_vfail(w->err, format, arguments);
	va_end(arguments);
	writer_note_place(w);
}

void h5w_error(struct h5_writer *w, int rc, const char *what)
{
	if (w->rc < 0)
		return;
	w->rc = err_set(w->err, rc, "%s", what);
	writer_note_place(w);
}

hid_t h5w_at(const struct h5_writer *w)
{
	return w->rc < 0 ? H5I_INVALID_HID : w->open[w->depth];
}

void h5w_open(struct h5_writer *w, const char *path, bool create, struct err *err)
{
	hid_t access = h5_file_access(), creation = h5_group_properties(H5P_FILE_CREATE);

	*w = (struct h5_writer){.path = path, .open = {H5I_INVALID_HID}, .err = err};
	if (access >= 0 && creation >= 0 && h5_driver_set(access, &w->driver_error) >= 0)
		w->open[0] = create ? H5Fcreate(path, H5F_ACC_TRUNC, creation, access)
				    : H5Fopen(path, H5F_ACC_RDWR, access);
	h5_close(access);
	h5_close(creation);
	if (w->open[0] < 0)
		h5w_failed(w, "results file %s cannot be %s", path, create ? "made" : "opened");
}

static void leave(struct h5_writer *w)
{
	h5_close(w->open[w->depth]);
	free(w->room[w->depth]);
	w->room[w->depth] = NULL;
}

int h5w_finish(struct h5_writer *w)
{
	for (; w->depth; w->depth--)
		leave(w);
	free(w->room[0]);
	/* Only closing writes what HDF5 still has. */
	if (w->open[0] >= 0 && H5Fclose(w->open[0]) < 0)
		h5w_failed(w, "results file %s cannot be written", w->path);
	H5Eclear2(H5E_DEFAULT);
	h5_give_back();
	/* Returns the first failure of a write, whatever HDF5 made of it. */
	if (w->driver_error)
		w->rc = err_set(w->err, w->driver_error, "results file %s cannot be written: %s",
				w->path, strerror(-w->driver_error));
	return w->rc;
}

void *h5w_room(struct h5_writer *w, size_t count, size_t size)
{
	if (w->rc < 0)
		return NULL;
	free(w->room[w->depth]);
	w->room[w->depth] = calloc(count ? count : 1, size);
	if (!w->room[w->depth])
		h5w_error(w, -ENOMEM, "no memory to write them");
	return w->room[w->depth];
}

/* Takes over the object. */
static void enter(struct h5_writer *w, hid_t object, const char *what, const char *name)
{
	if (object >= 0 && w->depth + 1 < H5W_DEPTH) {
		w->open[++w->depth] = object;
		return;
	}
	h5w_failed(w, "cannot %s %s", what, name);
	h5_close(object);
}

void h5w_group(struct h5_writer *w, const char *name)
{
	hid_t list;

	if (w->rc < 0)
		return;
	list = h5_group_properties(H5P_GROUP_CREATE);
	enter(w, H5Gcreate2(h5w_at(w), name, H5P_DEFAULT, list, H5P_DEFAULT), "make the group",
	      name);
	h5_close(list);
}

/* Packed: for what is small and mostly zeros, or evenly spaced. */
static herr_t set_packed(hid_t list, int rank, const hsize_t *dims)
{
	if (!dims[0] || !dims[rank - 1] || H5Zfilter_avail(H5Z_FILTER_DEFLATE) <= 0)
		return 0;
	return H5Pset_alloc_time(list, H5D_ALLOC_TIME_INCR) < 0 ||
			       H5Pset_chunk(list, rank, dims) < 0 || H5Pset_shuffle(list) < 0
		       ? -1
		       : H5Pset_deflate(list, H5_DEFLATE);
}

static void make_dataset(struct h5_writer *w, const char *name, hid_t type, int rank,
			 const hsize_t *dims, bool packed)
{
	hid_t list, space, made = H5I_INVALID_HID;

	if (w->rc < 0)
		return;
	list = H5Pcreate(H5P_DATASET_CREATE);
	space = H5Screate_simple(rank, dims, NULL);
	if (H5Pset_obj_track_times(list, false) >= 0 &&
	    H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY) >= 0 &&
	    H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) >= 0 &&
	    H5Pset_attr_phase_change(list, 1024, 512) >= 0 &&
	    (!packed || set_packed(list, rank, dims) >= 0))
		made = H5Dcreate2(h5w_at(w), name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
	enter(w, made, "make the data set", name);
	h5_close(space);
	h5_close(list);
}

void h5w_dataset(struct h5_writer *w, const char *name, hid_t type, int rank, const hsize_t *dims)
{
	make_dataset(w, name, type, rank, dims, false);
}

void h5w_enter(struct h5_writer *w, const char *name)
{
	if (w->rc == 0)
		enter(w, H5Oopen(h5w_at(w), name, H5P_DEFAULT), "open", name);
}

void h5w_leave(struct h5_writer *w)
{
	if (w->rc < 0)
		return;
	leave(w);
	w->depth--;
}

void h5w_data(struct h5_writer *w, hid_t type, const void *data)
{
	hid_t space, transfer;

	if (w->rc < 0)
		return;
	space = H5Dget_space(h5w_at(w));
	transfer = h5_transfer(h5w_at(w), type, H5Sget_simple_extent_npoints(space));
	if (H5Dwrite(h5w_at(w), type, H5S_ALL, H5S_ALL, transfer, data) < 0)
		h5w_failed(w, "cannot write a data set");
	h5_close(transfer);
	h5_close(space);
}

static void write_array(struct h5_writer *w, const void *data, hid_t type, const char *units)
{
	if (units)
		h5w_text(w, "units", units);
	h5w_data(w, type, data);
	h5w_leave(w);
}

void h5w_array(struct h5_writer *w, const char *name, hid_t type, hsize_t n, const void *data,
	       const char *units)
{
	h5w_dataset(w, name, type, 1, &n);
	write_array(w, data, type, units);
}

void h5w_packed(struct h5_writer *w, const char *name, hid_t type, int rank, const hsize_t *dims,
		const void *data, const char *units)
{
	make_dataset(w, name, type, rank, dims, true);
	write_array(w, data, type, units);
}

/* n 0: a scalar. */
static void write_attribute(struct h5_writer *w, const char *name, hid_t type, hsize_t n,
			    const void *value)
{
	hid_t space, attr = H5I_INVALID_HID;

	if (w->rc < 0)
		return;
	space = n ? H5Screate_simple(1, &n, NULL) : H5Screate(H5S_SCALAR);
	if (H5Aexists(h5w_at(w), name) <= 0 || H5Adelete(h5w_at(w), name) >= 0)
		attr = H5Acreate2(h5w_at(w), name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	if (H5Awrite(attr, type, value) < 0)
		h5w_failed(w, "cannot write the attribute %s", name);
	h5_close(attr);
	h5_close(space);
}

void h5w_text(struct h5_writer *w, const char *name, const char *text)
{
	char cut[H5_TEXT_MAX];
	hid_t type;

	utf8_copy(cut, sizeof(cut), text);
	type = h5_text_type(strlen(cut) + 1);
	write_attribute(w, name, type, 0, cut);
	h5_close(type);
}

void h5w_u64(struct h5_writer *w, const char *name, uint64_t value)
{
	write_attribute(w, name, H5T_NATIVE_UINT64, 0, &value);
}

void h5w_real(struct h5_writer *w, const char *name, double value)
{
	write_attribute(w, name, H5T_NATIVE_DOUBLE, 0, &value);
}

void h5w_texts(struct h5_writer *w, const char *name, const char *const *texts, size_t count)
{
	char all[H5_TEXT_MAX] = {0};
	size_t width = 1;
	hid_t type;

	for (size_t i = 0; i < count; i++)
		width = strlen(texts[i]) + 1 > width ? strlen(texts[i]) + 1 : width;
	if (!count || width * count > sizeof(all)) {
		h5w_error(w, -E2BIG, "an attribute has no values or too many");
		return;
	}
	for (size_t i = 0; i < count; i++)
		strcpy(all + i * width, texts[i]);
	type = h5_text_type(width);
	write_attribute(w, name, type, count, all);
	h5_close(type);
}

void h5w_record(struct h5_writer *w, const struct member *members, size_t count, const void *record)
{
	for (const struct member *m = members; m < members + count; m++) {
		const void *value = (const char *)record + m->offset;

		if (m->only_other && *(const uint64_t *)value == m->absent)
			continue;
		if (m->kind == MEMBER_TEXT)
			h5w_text(w, m->name, value);
		else if (m->kind == MEMBER_REAL)
			h5w_real(w, m->name, *(const double *)value);
		else
			h5w_u64(w, m->name, *(const uint64_t *)value);
	}
}

void h5w_nexus(struct h5_writer *w, const struct nexus *n)
{
	h5w_text(w, "NX_class", "NXdata");
	h5w_text(w, "signal", n->signal);
	h5w_texts(w, "axes", n->axes, n->axis_count);
	if (n->more_count)
		h5w_texts(w, "auxiliary_signals", n->more, n->more_count);
	h5w_text(w, "title", n->title);
}
