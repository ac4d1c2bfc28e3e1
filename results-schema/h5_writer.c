/* SPDX-License-Identifier: Apache-2.0 */
/* Writer of HDF5 files: see h5_writer.h. */
#include "results-schema/h5_writer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"
#include "results-schema/h5.h"
#include "results-schema/h5_driver.h"

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

void h5w_dataset(struct h5_writer *w, const char *name, hid_t type, int rank, const hsize_t *dims)
{
	hid_t list, space, made = H5I_INVALID_HID;

	if (w->rc < 0)
		return;
	list = H5Pcreate(H5P_DATASET_CREATE);
	space = H5Screate_simple(rank, dims, NULL);
	if (H5Pset_obj_track_times(list, false) >= 0 &&
	    H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY) >= 0 &&
	    H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) >= 0 &&
	    H5Pset_attr_phase_change(list, 1024, 512) >= 0)
		made = H5Dcreate2(h5w_at(w), name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
	enter(w, made, "make the data set", name);
	h5_close(space);
	h5_close(list);
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

void h5w_array(struct h5_writer *w, const char *name, hid_t type, hsize_t n, const void *data,
	       const char *units)
{
	h5w_dataset(w, name, type, 1, &n);
	if (units)
		h5w_text(w, "units", units);
	h5w_data(w, type, data);
	h5w_leave(w);
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
