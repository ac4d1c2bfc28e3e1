/* SPDX-License-Identifier: Apache-2.0 */
/* Row types of results.h5: see rows.h. */
#include "results-schema/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "results-schema/h5.h"

enum { WORD = 8 };

uint32_t rows_words(const struct row_shape *shape)
{
	return shape->key_count + shape->columns->measure_count + shape->columns->figure_count;
}

hid_t rows_type(const struct row_shape *shape)
{
	const struct columns *c = shape->columns;
	hid_t type = H5Tcreate(H5T_COMPOUND, (size_t)WORD * rows_words(shape));
	size_t at = 0;
	herr_t rc = 0;

	if (type < 0)
		return type;
	for (uint32_t i = 0; i < shape->key_count && rc >= 0; i++, at += WORD)
		rc = H5Tinsert(type, shape->keys[i], at, H5T_NATIVE_UINT64);
	for (uint32_t i = 0; i < c->measure_count && rc >= 0; i++, at += WORD)
		rc = H5Tinsert(type, c->measures[i].name, at, H5T_NATIVE_UINT64);
	for (uint32_t i = 0; i < c->figure_count && rc >= 0; i++, at += WORD)
		rc = H5Tinsert(type, c->figures[i].name, at, H5T_NATIVE_DOUBLE);
	if (rc < 0) {
		H5Tclose(type);
		return H5I_INVALID_HID;
	}
	return type;
}

void rows_fill(const struct row_shape *shape, const uint64_t *keys, const uint64_t *measures,
	       uint64_t *out)
{
	const struct columns *c = shape->columns;

	for (uint32_t i = 0; i < shape->key_count; i++)
		*out++ = keys[i];
	for (uint32_t i = 0; i < c->measure_count; i++)
		*out++ = measures[i];
	for (uint32_t i = 0; i < c->figure_count; i++) {
		double value = figure_value(&c->figures[i], measures);

		memcpy(out++, &value, sizeof(value));
	}
}

enum column_text { COLUMN_UNITS, COLUMN_ROLES, COLUMN_COUNTED_BY, COLUMN_FORMULAS };
static const char *const column_attributes[] = {[COLUMN_UNITS] = "units",
						[COLUMN_ROLES] = "roles",
						[COLUMN_COUNTED_BY] = "counted_by",
						[COLUMN_FORMULAS] = "formulas"};

static const char *measure_text(const struct measure *m, enum column_text text)
{
	if (text == COLUMN_UNITS)
		return m->unit;
	if (text == COLUMN_ROLES)
		return role_name(m->role);
	return text == COLUMN_COUNTED_BY && m->counted_by ? m->counted_by : "";
}

/* room: for a text that is made. */
static const char *figure_text(const struct columns *c, const struct figure *f,
			       enum column_text text, char room[FIGURE_FORMULA_BYTES])
{
	if (text == COLUMN_UNITS)
		return f->unit;
	if (text == COLUMN_FORMULAS)
		figure_formula(c, f, room);
	return text == COLUMN_ROLES ? role_name(f->role) : room;
}

/* Writes one text for each column. */
static void write_column_texts(struct h5_writer *w, const struct row_shape *shape,
			       enum column_text text)
{
	const struct columns *c = shape->columns;
	uint32_t words = rows_words(shape), n = 0;
	const char **texts = h5w_room(w, words, sizeof(*texts) + FIGURE_FORMULA_BYTES);
	char(*rooms)[FIGURE_FORMULA_BYTES];

	if (!texts)
		return;
	rooms = (void *)(texts + words);
	for (uint32_t i = 0; i < shape->key_count; i++)
		texts[n++] = "";
	for (uint32_t i = 0; i < c->measure_count; i++)
		texts[n++] = measure_text(&c->measures[i], text);
	for (uint32_t i = 0; i < c->figure_count; i++)
		texts[n++] = figure_text(c, &c->figures[i], text, rooms[i]);
	h5w_texts(w, column_attributes[text], texts, n);
}

static bool columns_are_counted(const struct columns *c)
{
	for (uint32_t i = 0; i < c->measure_count; i++)
		if (c->measures[i].counted_by)
			return true;
	return false;
}

void rows_describe(struct h5_writer *w, const struct row_shape *shape)
{
	write_column_texts(w, shape, COLUMN_UNITS);
	write_column_texts(w, shape, COLUMN_ROLES);
	if (columns_are_counted(shape->columns))
		write_column_texts(w, shape, COLUMN_COUNTED_BY);
	if (shape->columns->figure_count)
		write_column_texts(w, shape, COLUMN_FORMULAS);
}

void rows_write(struct h5_writer *w, const char *name, const struct row_shape *shape,
		uint64_t count, const uint64_t *rows)
{
	hid_t type = rows_type(shape);
	hsize_t size = count;

	h5w_dataset(w, name, type, 1, &size);
	rows_describe(w, shape);
	h5w_data(w, type, rows);
	h5_close(type);
}

static hid_t member_type(const struct member *m)
{
	switch (m->kind) {
	case MEMBER_TEXT:
		return h5_text_type(m->bytes);
	case MEMBER_U64:
		return H5Tcopy(H5T_NATIVE_UINT64);
	case MEMBER_I64:
		return H5Tcopy(H5T_NATIVE_INT64);
	case MEMBER_U32:
		return H5Tcopy(H5T_NATIVE_UINT32);
	case MEMBER_I32:
		return H5Tcopy(H5T_NATIVE_INT32);
	case MEMBER_REAL:
		break;
	}
	return H5Tcopy(H5T_NATIVE_DOUBLE);
}

hid_t rows_record_type(const struct record_shape *shape)
{
	hid_t type = H5Tcreate(H5T_COMPOUND, shape->size);

	for (size_t i = 0; i < shape->count && type >= 0; i++) {
		const struct member *m = &shape->members[i];
		hid_t member = member_type(m);

		if (member < 0 || H5Tinsert(type, m->name, m->offset, member) < 0) {
			H5Tclose(type);
			type = H5I_INVALID_HID;
		}
		if (member >= 0)
			H5Tclose(member);
	}
	return type;
}

void rows_end_texts(const struct record_shape *shape, void *rows, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		char *row = (char *)rows + i * shape->size;

		for (size_t k = 0; k < shape->count; k++)
			if (shape->members[k].kind == MEMBER_TEXT)
				row[shape->members[k].offset + shape->members[k].bytes - 1] = '\0';
	}
}

static const struct member summary_members[] = {
	MEMBER_OF_TEXT(struct summary_row, "phase", phase),
	MEMBER_OF_TEXT(struct summary_row, "kind", kind),
	MEMBER_OF(struct summary_row, "seconds", seconds, MEMBER_REAL),
	MEMBER_OF(struct summary_row, "au", au, MEMBER_REAL),
	MEMBER_OF(struct summary_row, "GB_per_s", gb_per_s, MEMBER_REAL),
	MEMBER_OF(struct summary_row, "operations_per_s", operations_per_s, MEMBER_REAL),
#define QUANTILE_MEMBER(id, name, share) \
	MEMBER_OF(struct summary_row, #name "_ms", quantile_ms[QUANTILE_##id], MEMBER_REAL),
	QUANTILE_LIST(QUANTILE_MEMBER)
#undef QUANTILE_MEMBER
		MEMBER_OF(struct summary_row, "max_ms", max_ms, MEMBER_REAL),
	MEMBER_OF(struct summary_row, "errors", errors, MEMBER_U64),
	MEMBER_OF(struct summary_row, "run", run, MEMBER_U32),
	MEMBER_OF(struct summary_row, "repeat", repeat, MEMBER_U32),
	MEMBER_OF(struct summary_row, "warmup", warmup, MEMBER_U32),
	MEMBER_OF_TEXT(struct summary_row, "samples", samples),
	MEMBER_OF_TEXT(struct summary_row, "sweep", sweep),
};
const struct record_shape rows_summary = RECORD_SHAPE(struct summary_row, summary_members);

static const struct member node_members[] = {
	MEMBER_OF_TEXT(struct node_row, "host", host),
	MEMBER_OF_TEXT(struct node_row, "cpu", cpu),
	MEMBER_OF(struct node_row, "cores", cores, MEMBER_U64),
	MEMBER_OF(struct node_row, "memory_bytes", memory_bytes, MEMBER_U64),
	MEMBER_OF(struct node_row, "numa_nodes", numa_nodes, MEMBER_U64),
	MEMBER_OF_TEXT(struct node_row, "kernel", kernel),
	MEMBER_OF_TEXT(struct node_row, "nics", nics),
	MEMBER_OF(struct node_row, "nic_bytes_per_s", nic_bytes_per_s, MEMBER_U64),
	MEMBER_OF_TEXT(struct node_row, "rdma", rdma),
	MEMBER_OF(struct node_row, "rdma_bytes_per_s", rdma_bytes_per_s, MEMBER_U64),
	MEMBER_OF_TEXT(struct node_row, "disks", disks),
	MEMBER_OF(struct node_row, "clock_offset_ns", clock_offset_ns, MEMBER_I64),
	MEMBER_OF(struct node_row, "clock_error_ns", clock_error_ns, MEMBER_U64),
};
const struct record_shape rows_node = RECORD_SHAPE(struct node_row, node_members);

static const struct member rank_members[] = {
	MEMBER_OF(struct rank_row, "rank", place.rank, MEMBER_U32),
	MEMBER_OF(struct rank_row, "node", place.node, MEMBER_U32),
	MEMBER_OF(struct rank_row, "local_rank", place.local_rank, MEMBER_U32),
	MEMBER_OF(struct rank_row, "gpu", place.gpu, MEMBER_U32),
	MEMBER_OF(struct rank_row, "data", place.data, MEMBER_U32),
	MEMBER_OF(struct rank_row, "tensor", place.tensor, MEMBER_U32),
	MEMBER_OF(struct rank_row, "pipeline", place.pipeline, MEMBER_U32),
	MEMBER_OF(struct rank_row, "endpoint", place.endpoint, MEMBER_U32),
	MEMBER_OF_TEXT(struct rank_row, "cores_found", cores_found),
	MEMBER_OF(struct rank_row, "run_ns", run_ns, MEMBER_U64),
	MEMBER_OF(struct rank_row, "runnable_ns", runnable_ns, MEMBER_U64),
};
const struct record_shape rows_rank = RECORD_SHAPE(struct rank_row, rank_members);

static const struct member store_members[] = {
	MEMBER_OF_TEXT(struct store_facts, "name", name),
	MEMBER_OF_TEXT(struct store_facts, "uri", uri),
	MEMBER_OF_TEXT(struct store_facts, "engine", engine),
	MEMBER_OF(struct store_facts, "direct", direct, MEMBER_U64),
	MEMBER_OF_TEXT(struct store_facts, "file_system", file_system),
	MEMBER_OF(struct store_facts, "block_bytes", block_bytes, MEMBER_U64),
	MEMBER_OF_TEXT(struct store_facts, "layout", layout),
	MEMBER_OF_TEXT(struct store_facts, "client", client),
	MEMBER_OF(struct store_facts, "copies_read", copies_read, MEMBER_U64),
	MEMBER_OF(struct store_facts, "copies_streamed", copies_streamed, MEMBER_U64),
	MEMBER_OF(struct store_facts, "copies_written", copies_written, MEMBER_U64),
	MEMBER_OF(struct store_facts, "nodes", nodes, MEMBER_U64),
	MEMBER_OF_TEXT(struct store_facts, "note", note),
	MEMBER_OF_TEXT(struct store_facts, "degraded", degraded),
};
const struct record_shape rows_store = RECORD_SHAPE(struct store_facts, store_members);

static const struct member failure_members[] = {
	MEMBER_OF(struct failure, "time_ns", time_ns, MEMBER_U64),
	MEMBER_OF(struct failure, "rank", rank, MEMBER_U32),
	MEMBER_OF(struct failure, "node", node, MEMBER_U32),
	MEMBER_OF_TEXT(struct failure, "operation", operation),
	MEMBER_OF_TEXT(struct failure, "object", object),
	MEMBER_OF(struct failure, "offset", offset, MEMBER_U64),
	MEMBER_OF(struct failure, "length", length, MEMBER_U64),
	MEMBER_OF(struct failure, "errno", error, MEMBER_I32),
	MEMBER_OF(struct failure, "protocol_status", protocol_status, MEMBER_U32),
	MEMBER_OF(struct failure, "attempts", attempts, MEMBER_U32),
	MEMBER_OF(struct failure, "epoch", epoch, MEMBER_U32),
	MEMBER_OF(struct failure, "step", step, MEMBER_U32),
	MEMBER_OF_TEXT(struct failure, "text", text),
};
const struct record_shape rows_failure = RECORD_SHAPE(struct failure, failure_members);

static const struct member target_members[] = {
	MEMBER_OF_TEXT(struct target_result, "name", name),
	MEMBER_OF_TEXT(struct target_result, "label", label),
	MEMBER_OF_TEXT(struct target_result, "unit", unit),
	MEMBER_OF(struct target_result, "most", most, MEMBER_U64),
	MEMBER_OF(struct target_result, "asked", asked, MEMBER_REAL),
	MEMBER_OF(struct target_result, "found", found, MEMBER_REAL),
	MEMBER_OF(struct target_result, "met", met, MEMBER_U64),
};
const struct record_shape rows_target = RECORD_SHAPE(struct target_result, target_members);

hid_t rows_packed_type(const struct record_shape *shape)
{
	hid_t type = rows_record_type(shape);

	if (type >= 0 && H5Tpack(type) < 0) {
		h5_close(type);
		return H5I_INVALID_HID;
	}
	return type;
}

void records_write(struct h5_writer *w, const char *name, const struct record_shape *shape,
		   hsize_t count, const void *records)
{
	hid_t memory = rows_record_type(shape), packed = rows_packed_type(shape);

	h5w_dataset(w, name, packed, 1, &count);
	if (count)
		h5w_data(w, memory, records);
	h5_close(packed);
	h5_close(memory);
}

void records_make_growing(struct h5_writer *w, const char *name, const struct record_shape *shape,
			  hsize_t chunk)
{
	hsize_t none = 0, unlimited = H5S_UNLIMITED;
	hid_t type = rows_packed_type(shape), list = H5Pcreate(H5P_DATASET_CREATE);
	hid_t space = H5Screate_simple(1, &none, &unlimited), made = H5I_INVALID_HID;

	if (H5Pset_chunk(list, 1, &chunk) >= 0 && H5Pset_obj_track_times(list, false) >= 0 &&
	    H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY) >= 0 &&
	    H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) >= 0)
		made = H5Dcreate2(h5w_at(w), name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
	if (made < 0)
		h5w_failed(w, "cannot make %s", name);
	h5_close(made);
	h5_close(space);
	h5_close(list);
	h5_close(type);
}

void records_grow(struct h5_writer *w, const char *name, const struct record_shape *shape,
		  hsize_t first, hsize_t count, const void *records)
{
	hid_t type = rows_record_type(shape), file, memory, transfer;
	hsize_t rows = first + count;

	h5w_enter(w, name);
	if (H5Dset_extent(h5w_at(w), &rows) < 0)
		h5w_failed(w, "cannot extend %s", name);
	file = H5Dget_space(h5w_at(w));
	memory = H5Screate_simple(1, &count, NULL);
	transfer = h5_transfer(h5w_at(w), type, (hssize_t)count);
	if (count && (H5Sselect_hyperslab(file, H5S_SELECT_SET, &first, NULL, &count, NULL) < 0 ||
		      H5Dwrite(h5w_at(w), type, memory, file, transfer, records) < 0))
		h5w_failed(w, "cannot write %s", name);
	h5_close(transfer);
	h5_close(memory);
	h5_close(file);
	h5_close(type);
	h5w_leave(w);
}

void rows_make_summary(struct h5_writer *w, uint32_t name_bytes, uint32_t sweep_bytes)
{
	enum { MEMBERS = sizeof(summary_members) / sizeof(*summary_members) };
	struct member members[MEMBERS];
	const struct record_shape shape = RECORD_SHAPE(struct summary_row, members);

	memcpy(members, summary_members, sizeof(members));
	for (size_t i = 0; i < MEMBERS; i++) {
		uint32_t wanted =
			members[i].offset == offsetof(struct summary_row, phase)   ? name_bytes
			: members[i].offset == offsetof(struct summary_row, sweep) ? sweep_bytes
										   : 0;

		if (wanted && wanted < members[i].bytes)
			members[i].bytes = wanted;
	}
	records_make_growing(w, "/summary", &shape, 16);
}
