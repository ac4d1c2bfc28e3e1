/* SPDX-License-Identifier: Apache-2.0 */
/* Parallel part of a publication: see append.h. */
#include <mpi.h>

#include "results-schema/append.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results-schema/h5.h"

#ifndef H5_HAVE_PARALLEL
#error "haul needs a parallel HDF5 (hdf5-mpich, hdf5-openmpi): this one is serial"
#endif

/* A node that gathers and writes rows for others (ROMIO: cb_nodes, by default all nodes) is worth
 * its messages from some MiB on, and on Lustre each of them has a stripe of its own. */
enum { APPEND_BUFFER_BYTES = 1 << 20, APPEND_WRITER_BYTES = 8 << 20, APPEND_WRITERS_MAX = 16 };

uint32_t append_writers(uint32_t nodes, uint64_t bytes)
{
	uint64_t writers = 1 + bytes / APPEND_WRITER_BYTES;

	if (writers > APPEND_WRITERS_MAX)
		writers = APPEND_WRITERS_MAX;
	return writers > nodes ? nodes : (uint32_t)writers;
}

static void append_hint(MPI_Info info, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	MPI_Info_set(info, name, text);
}

/* Few writers, small collective buffers, and no reading back of what is between rows. Unknown hints
 * are ignored; a file named by ROMIO_HINTS comes first. */
static MPI_Info append_hints(const struct results *r, uint64_t bytes)
{
	uint32_t writers = append_writers(r->writer.nodes, bytes);
	MPI_Info info;

	MPI_Info_create(&info);
	append_hint(info, "cb_buffer_size", APPEND_BUFFER_BYTES);
	append_hint(info, "cb_nodes", writers);
	append_hint(info, "striping_factor", writers);
	append_hint(info, "striping_unit", APPEND_BUFFER_BYTES);
	MPI_Info_set(info, "romio_cb_write", "enable");
	MPI_Info_set(info, "romio_ds_write", "disable");
	return info;
}

static hid_t append_access(const struct results *r, uint64_t bytes)
{
	hid_t access = h5_file_access();
	MPI_Info info;

	if (access < 0)
		return access;
	info = append_hints(r, bytes);
	/* One rank reads the file's metadata for all. */
	if (H5Pset_fapl_mpio(access, *(const MPI_Comm *)r->comm, info) < 0 ||
	    H5Pset_all_coll_metadata_ops(access, true) < 0) {
		H5Pclose(access);
		access = H5I_INVALID_HID;
	}
	MPI_Info_free(&info);
	return access;
}

/* A colon would be taken for the end of a file system's name by ROMIO; this is the name that means
 * any. */
static char *romio_path(const char *part)
{
	char *path = malloc(strlen(part) + 5);

	if (path) {
		strcpy(path, strchr(part, ':') ? "ufs:" : "");
		strcat(path, part);
	}
	return path;
}

void append_create(const struct results *r, const char *part, uint64_t bytes)
{
	char *path = romio_path(part);
	MPI_Info info = append_hints(r, bytes);
	MPI_File file;

	unlink(part);
	if (path &&
	    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR,
			  info, &file) == MPI_SUCCESS)
		MPI_File_close(&file);
	MPI_Info_free(&info);
	free(path);
}

int append_rows(struct results *r, const char *part, const char *at, const struct blocks *blocks,
		struct err *err)
{
	char *path = romio_path(part);
	hid_t access = append_access(r, blocks_bytes(blocks)), file = H5I_INVALID_HID;
	int rc = 0;

	if (!path || access < 0)
		rc = h5_fail(err, "results file %s cannot be opened", part);
	rc = group_agree(r->group, rc, err);
	if (rc < 0)
		goto out_access;
	file = H5Fopen(path, H5F_ACC_RDWR, access);
	if (file < 0)
		rc = h5_fail(err, "results file %s cannot be opened", part);
	rc = group_agree(r->group, rc, err);
	if (rc == 0)
		rc = blocks_write(blocks, file, at, r->group, &r->watch, err);
	results_step(&r->watch, blocks_bytes(blocks));
	/* The file is closed whatever happens, so that no rank waits for another. */
	rc = group_agree(r->group, h5_divert(part, rc, err), err);
	if (file >= 0 && H5Fclose(file) < 0 && rc == 0)
		rc = h5_fail(err, "results file %s cannot be written", part);
	h5_give_back();
	rc = group_agree(r->group, rc, err);
out_access:
	if (access >= 0)
		H5Pclose(access);
	free(path);
	return rc;
}
