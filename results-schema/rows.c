#include "results-schema/rows.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
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
		double value = c->figures[i].value(measures);

		memcpy(out++, &value, sizeof(value));
	}
}

int rows_units(hid_t dataset, const struct row_shape *shape, struct err *err)
{
	const struct columns *c = shape->columns;
	const char **units = calloc(rows_words(shape), sizeof(*units));
	uint32_t n = 0;
	int rc;

	if (!units)
		return err_set(err, -ENOMEM, "no memory for the units of a table");
	for (uint32_t i = 0; i < shape->key_count; i++)
		units[n++] = "";
	for (uint32_t i = 0; i < c->measure_count; i++)
		units[n++] = c->measures[i].unit;
	for (uint32_t i = 0; i < c->figure_count; i++)
		units[n++] = c->figures[i].unit;
	rc = h5_attr_texts(dataset, "units", units, n, err);
	free(units);
	return rc;
}

/* A member of a record: text of so many bytes, or a number of an HDF5 type. */
enum member_kind { MEMBER_TEXT, MEMBER_U64, MEMBER_I64, MEMBER_U32, MEMBER_I32, MEMBER_REAL };
struct member {
	const char *name;
	size_t offset;
	enum member_kind kind;
	size_t bytes; /* of text */
};

#define TEXT(record, name, member) \
	{ \
		(name), offsetof(record, member), MEMBER_TEXT, sizeof(((record *)0)->member) \
	}
#define NUMBER(record, name, member, kind) \
	{ \
		(name), offsetof(record, member), (kind), 0 \
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

static hid_t record_type(size_t size, const struct member *members, size_t count)
{
	hid_t type = H5Tcreate(H5T_COMPOUND, size);

	for (size_t i = 0; i < count && type >= 0; i++) {
		hid_t member = member_type(&members[i]);

		if (member < 0 || H5Tinsert(type, members[i].name, members[i].offset, member) < 0) {
			H5Tclose(type);
			type = H5I_INVALID_HID;
		}
		if (member >= 0)
			H5Tclose(member);
	}
	return type;
}

#define RECORD_TYPE(record, members) \
	record_type(sizeof(record), members, sizeof(members) / sizeof(*(members)))

hid_t rows_summary_type(void)
{
	static const struct member members[] = {
		TEXT(struct summary_row, "phase", phase),
		TEXT(struct summary_row, "kind", kind),
		NUMBER(struct summary_row, "seconds", seconds, MEMBER_REAL),
		NUMBER(struct summary_row, "au", au, MEMBER_REAL),
		NUMBER(struct summary_row, "GB_per_s", gb_per_s, MEMBER_REAL),
		NUMBER(struct summary_row, "operations_per_s", operations_per_s, MEMBER_REAL),
		NUMBER(struct summary_row, "p50_ms", p50_ms, MEMBER_REAL),
		NUMBER(struct summary_row, "p95_ms", p95_ms, MEMBER_REAL),
		NUMBER(struct summary_row, "p99_ms", p99_ms, MEMBER_REAL),
		NUMBER(struct summary_row, "p999_ms", p999_ms, MEMBER_REAL),
		NUMBER(struct summary_row, "p9999_ms", p9999_ms, MEMBER_REAL),
		NUMBER(struct summary_row, "max_ms", max_ms, MEMBER_REAL),
		NUMBER(struct summary_row, "errors", errors, MEMBER_U64),
		NUMBER(struct summary_row, "run", run, MEMBER_U64),
		NUMBER(struct summary_row, "repeat", repeat, MEMBER_U64),
		NUMBER(struct summary_row, "warmup", warmup, MEMBER_U64),
		TEXT(struct summary_row, "sweep", sweep),
	};
	return RECORD_TYPE(struct summary_row, members);
}

hid_t rows_node_type(void)
{
	static const struct member members[] = {
		TEXT(struct node_row, "host", host),
		TEXT(struct node_row, "cpu", cpu),
		NUMBER(struct node_row, "cores", cores, MEMBER_U64),
		NUMBER(struct node_row, "memory_bytes", memory_bytes, MEMBER_U64),
		NUMBER(struct node_row, "numa_nodes", numa_nodes, MEMBER_U64),
		TEXT(struct node_row, "kernel", kernel),
		TEXT(struct node_row, "nics", nics),
		NUMBER(struct node_row, "nic_bytes_per_s", nic_bytes_per_s, MEMBER_U64),
		TEXT(struct node_row, "rdma", rdma),
		NUMBER(struct node_row, "rdma_bytes_per_s", rdma_bytes_per_s, MEMBER_U64),
		TEXT(struct node_row, "disks", disks),
		NUMBER(struct node_row, "clock_offset_ns", clock_offset_ns, MEMBER_I64),
		NUMBER(struct node_row, "clock_error_ns", clock_error_ns, MEMBER_U64),
	};
	return RECORD_TYPE(struct node_row, members);
}

hid_t rows_rank_type(void)
{
	static const struct member members[] = {
		NUMBER(struct rank_row, "rank", place.rank, MEMBER_U32),
		NUMBER(struct rank_row, "node", place.node, MEMBER_U32),
		NUMBER(struct rank_row, "local_rank", place.local_rank, MEMBER_U32),
		NUMBER(struct rank_row, "gpu", place.gpu, MEMBER_U32),
		NUMBER(struct rank_row, "data", place.data, MEMBER_U32),
		NUMBER(struct rank_row, "tensor", place.tensor, MEMBER_U32),
		NUMBER(struct rank_row, "pipeline", place.pipeline, MEMBER_U32),
		NUMBER(struct rank_row, "endpoint", place.endpoint, MEMBER_U32),
		TEXT(struct rank_row, "cores_found", cores_found),
		NUMBER(struct rank_row, "run_ns", run_ns, MEMBER_U64),
		NUMBER(struct rank_row, "runnable_ns", runnable_ns, MEMBER_U64),
	};
	return RECORD_TYPE(struct rank_row, members);
}

hid_t rows_store_type(void)
{
	static const struct member members[] = {
		TEXT(struct store_facts, "name", name),
		TEXT(struct store_facts, "uri", uri),
		TEXT(struct store_facts, "engine", engine),
		NUMBER(struct store_facts, "direct", direct, MEMBER_U64),
		TEXT(struct store_facts, "file_system", file_system),
		NUMBER(struct store_facts, "block_bytes", block_bytes, MEMBER_U64),
		TEXT(struct store_facts, "layout", layout),
		TEXT(struct store_facts, "client", client),
		NUMBER(struct store_facts, "copies_read", copies_read, MEMBER_U64),
		NUMBER(struct store_facts, "copies_streamed", copies_streamed, MEMBER_U64),
		NUMBER(struct store_facts, "copies_written", copies_written, MEMBER_U64),
		NUMBER(struct store_facts, "nodes", nodes, MEMBER_U64),
		TEXT(struct store_facts, "note", note),
	};
	return RECORD_TYPE(struct store_facts, members);
}

hid_t rows_failure_type(void)
{
	static const struct member members[] = {
		NUMBER(struct failure, "time_ns", time_ns, MEMBER_U64),
		NUMBER(struct failure, "rank", rank, MEMBER_U32),
		NUMBER(struct failure, "node", node, MEMBER_U32),
		TEXT(struct failure, "operation", operation),
		TEXT(struct failure, "object", object),
		NUMBER(struct failure, "offset", offset, MEMBER_U64),
		NUMBER(struct failure, "length", length, MEMBER_U64),
		NUMBER(struct failure, "errno", error, MEMBER_I32),
		NUMBER(struct failure, "protocol_status", protocol_status, MEMBER_U32),
		NUMBER(struct failure, "attempts", attempts, MEMBER_U32),
		NUMBER(struct failure, "epoch", epoch, MEMBER_U32),
		NUMBER(struct failure, "step", step, MEMBER_U32),
		TEXT(struct failure, "text", text),
	};
	return RECORD_TYPE(struct failure, members);
}

hid_t rows_packed(hid_t memory_type)
{
	hid_t type = memory_type < 0 ? memory_type : H5Tcopy(memory_type);

	if (type >= 0 && H5Tpack(type) < 0) {
		H5Tclose(type);
		return H5I_INVALID_HID;
	}
	return type;
}
