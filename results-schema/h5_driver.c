/* SPDX-License-Identifier: Apache-2.0 */
/* HDF5 file driver of rank 0: see h5_driver.h. */
#include "results-schema/h5_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

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

herr_t h5_driver_set(hid_t access, int *error)
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
