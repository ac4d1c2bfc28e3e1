/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the reader of safetensors' headers and of a model's index. */
#include "workloads/archive/safetensors_read.h"

#include <errno.h>
#include <string.h>

#include "tests/unit.h"
#include "tests/workloads/archive/cases.h"

/* Headers of files with so many bytes of tensors; says: NULL, or what the sentence must have. */
struct row {
	const char *header;
	uint64_t bytes;
	const char *says;
};

#define ONE(dtype, shape, offsets) \
	"{\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
static const struct row rows[] = {
	{"{}", 0, NULL},
	{"{}   ", 0, NULL},
	{"{\"__metadata__\":{\"format\":\"pt\"}}", 0, NULL},
	{ONE("\"U8\"", "[4]", "[0,4]"), 4, NULL},
	{ONE("\"F16\"", "[ 2 , 3 ]", "[0, 12]"), 12, NULL},
	{ONE("\"F4\"", "[3,2]", "[0,3]"), 3, NULL},
	{ONE("\"I64\"", "[]", "[0,8]"), 8, NULL},
	{ONE("\"BF16\"", "[0,7]", "[0,0]"), 0, NULL},
	{"{\"a\":{\"more\":[{\"x\":\"}]\"},null,-1.5e3,true],\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
	 1, NULL},
	/* The order in the header is not that of the file. */
	{"{\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[4,7]},\"c\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[4,4]},"
	 "\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
	 7, NULL},
	{"", 0, "its header: is empty"},
	{" {}", 0, "does not begin with '{'"},
	{"[]", 0, "does not begin with '{'"},
	{"{\"a\":", 0, "its header: line 1"},
	{"{} x", 0, "expected nothing more"},
	{"{\"a\":1}", 0, "tensor \"a\" is not an object"},
	{"{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5}", 0, "members that are not tensors"},
	{ONE("\"U9\"", "[4]", "[0,4]"), 4, "tensor \"a\" has a dtype that is not known"},
	{ONE("8", "[4]", "[0,4]"), 4, "must have one dtype, a string"},
	{ONE("\"U8\"", "4", "[0,4]"), 4, "must have one shape"},
	{ONE("\"U8\"", "[-4]", "[0,4]"), 4, "must have one shape"},
	{ONE("\"U8\"", "[4.0]", "[0,4]"), 4, "must have one shape"},
	{ONE("\"U8\"", "[4e0]", "[0,4]"), 4, "must have one shape"},
	{ONE("\"U8\"", "[1,1,1,1,1,1,1,1,4]", "[0,4]"), 4, "must have one shape"},
	{ONE("\"U8\"", "[18446744073709551616]", "[0,4]"), 4, "must have one shape"},
	{ONE("\"U8\"", "[4]", "[0]"), 4, "must have one data_offsets"},
	{ONE("\"U8\"", "[4]", "[0,4,8]"), 4, "must have one data_offsets"},
	{ONE("\"U8\"", "[4]", "[4,0]"), 4, "data_offsets that are not in the file"},
	{ONE("\"U8\"", "[4]", "[0,4]"), 3, "data_offsets that are not in the file"},
	{ONE("\"U8\"", "[5]", "[0,4]"), 4, "a shape that does not make its bytes"},
	{ONE("\"F4\"", "[3]", "[0,2]"), 2, "a shape that does not make its bytes"},
	{ONE("\"U8\"", "[4294967296,4294967296,4294967296]", "[0,4]"), 4,
	 "a shape that does not make its bytes"},
	{ONE("\"U8\"", "[4]", "[0,4]"), 5, "1 bytes at its end belong to no tensor"},
	{ONE("\"U8\"", "[4]", "[1,5]"), 5, "tensor \"a\" has a gap before it"},
	{"{\"a\":{\"dtype\":\"U8\",\"shape\":[4]}}", 4, "must have dtype, shape and data_offsets"},
	{"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 4,
	 "must have one dtype"},
	{"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[3,7]}}",
	 7, "tensor \"b\" overlaps another one"},
	{"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}",
	 8, "tensor \"a\" is there twice"},
};

static void test_headers(void)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t n = strlen(rows[i].header), at = SAFETENSORS_LENGTH_BYTES + n;
		struct arena arena = {0};
		struct err err = {0};
		struct safetensors s;
		int rc = safetensors_read(&s, rows[i].header, n, at + rows[i].bytes, &arena, &err);

		CU_ASSERT_EQUAL(rc, rows[i].says ? -EINVAL : 0);
		if (rc < 0) {
			CU_ASSERT_PTR_NOT_NULL(strstr(err.text, rows[i].says ? rows[i].says : "?"));
		} else {
			for (uint64_t k = 0; k < s.count; k++) {
				CU_ASSERT_EQUAL(s.tensors[k].begin, at);
				at = s.tensors[k].end;
			}
			CU_ASSERT_EQUAL(at, SAFETENSORS_LENGTH_BYTES + n + rows[i].bytes);
		}
		arena_free(&arena);
	}
}

static void test_values(void)
{
	static const char header[] =
		"{\"b\\\"\\u00e9\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[8,20]},"
		"\"a\":{\"data_offsets\":[0,8],\"shape\":[],\"dtype\":\"I64\"}}";
	uint64_t data = SAFETENSORS_LENGTH_BYTES + sizeof(header) - 1;
	struct arena arena = {0};
	struct err err = {0};
	struct safetensors s;

	CU_ASSERT_EQUAL_FATAL(
		safetensors_read(&s, header, sizeof(header) - 1, data + 20, &arena, &err), 0);
	CU_ASSERT_EQUAL_FATAL(s.count, 2);
	CU_ASSERT_STRING_EQUAL(s.tensors[0].name, "a");
	CU_ASSERT_STRING_EQUAL(s.tensors[0].type, "I64");
	CU_ASSERT(s.tensors[0].dimensions == 0 && s.tensors[0].begin == data);
	CU_ASSERT_STRING_EQUAL(s.tensors[1].name, "b\"\xc3\xa9");
	CU_ASSERT_STRING_EQUAL(s.tensors[1].type, "BF16");
	CU_ASSERT(s.tensors[1].dimensions == 2 && s.tensors[1].shape[0] == 2 &&
		  s.tensors[1].shape[1] == 3);
	CU_ASSERT(s.tensors[1].begin == data + 8 && s.tensors[1].end == data + 20);
	arena_free(&arena);
}

static void test_lengths(void)
{
	static const struct {
		uint8_t first[SAFETENSORS_LENGTH_BYTES];
		uint64_t file, bytes; /* 0: refused */
		const char *says;
	} lengths[] = {
		{{2}, 10, 2, ""},
		{{2}, 9, 0, "longer than the file"},
		{{0}, 7, 0, "longer than the file"},
		{{0x00, 0xe1, 0xf5, 0x05}, 1 << 30, 100000000, ""},
		{{0x01, 0xe1, 0xf5, 0x05}, 1 << 30, 0, "100000001 bytes; at most 100 MB"},
		{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, UINT64_MAX, 0, "at most 100 MB"},
	};

	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint64_t bytes = 0;
		struct err err = {0};
		int rc = safetensors_header_bytes(lengths[i].first, lengths[i].file, &bytes, &err);

		CU_ASSERT_EQUAL(rc, lengths[i].bytes ? 0 : -EINVAL);
		CU_ASSERT_EQUAL(bytes, lengths[i].bytes);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, lengths[i].says));
	}
}

/* What archives of haul have in their headers is read back. */
static void test_archives(void)
{
	const struct archive_case *all;
	unsigned n = archive_cases(&all);

	for (unsigned i = 0; i < n; i++) {
		struct arena arena = {0};
		struct err err = {0};
		struct safetensors s;
		struct archive a;
		uint64_t bytes;

		CU_ASSERT_EQUAL_FATAL(
			archive_make(&a, ARCHIVE_SAFETENSORS, &all[i].tensors, &arena, &err), 0);
		CU_ASSERT_EQUAL_FATAL(safetensors_header_bytes(a.header, a.size, &bytes, &err), 0);
		CU_ASSERT_EQUAL(bytes + SAFETENSORS_LENGTH_BYTES, a.header_bytes);
		CU_ASSERT_EQUAL_FATAL(
			safetensors_read(&s, (const char *)a.header + SAFETENSORS_LENGTH_BYTES,
					 bytes, a.size, &arena, &err),
			0);
		CU_ASSERT_EQUAL_FATAL(s.count, a.tensors.count);
		for (uint64_t k = 0; k < s.count; k++)
			CU_ASSERT(s.tensors[k].end <= a.ends[s.count - 1]);
		for (uint64_t k = 0; k < s.count; k++) {
			struct tensor t;

			/* Tensors without bytes may stand in another order among themselves. */
			a.tensors.tensor(a.tensors.argument, k, &t);
			if (t.bytes)
				CU_ASSERT(strcmp(t.name, s.tensors[k].name) == 0 &&
					  s.tensors[k].begin == a.offsets[k] &&
					  s.tensors[k].end == a.ends[k]);
		}
		arena_free(&arena);
	}
}

static void test_index(void)
{
	static const struct {
		const char *index, *files; /* files, each with a space behind it; NULL: refused */
		const char *says;
	} indexes[] = {
		{"{\"weight_map\": {}}", "", ""},
		{"{\"metadata\": {\"total_size\": 3}, \"weight_map\": {\"a\": \"m-2.safetensors\", \"b\": \"m-1.safetensors\","
		 " \"c\": \"m-2.safetensors\", \"d\\\"\": \"m\\u002d3\"}}",
		 "m-1.safetensors m-2.safetensors m-3 ", ""},
		{"{}", NULL, "has no \"weight_map\""},
		{"{\"weight_map\": []}", NULL, "must have one \"weight_map\", an object"},
		{"{\"weight_map\": {}, \"weight_map\": {}}", NULL, "must have one \"weight_map\""},
		{"{\"weight_map\": {\"a\": 1}}", NULL,
		 "must map names of tensors to names of files"},
		{"{\"weight_map\": {\"a\": \"../b\"}}", NULL, "\"../b\" is not the name of a file"},
		{"{\"weight_map\": {\"a\": \"\"}}", NULL, "is not the name of a file"},
		{"{\"weight_map\": {\"a\": \"..\"}}", NULL, "is not the name of a file"},
		{"{\"weight_map\": {\"a\": \"b\\n\"}}", NULL, "is not the name of a file"},
		{"{\"weight_map\"", NULL, "line 1"},
	};

	for (unsigned i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++) {
		struct safetensors_file *files;
		struct arena arena = {0};
		struct err err = {0};
		char joined[256] = "";
		uint64_t count;
		int rc = safetensors_read_index(indexes[i].index, strlen(indexes[i].index), &files,
						&count, &arena, &err);

		CU_ASSERT_EQUAL(rc, indexes[i].files ? 0 : -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, indexes[i].says));
		for (uint64_t k = 0; rc == 0 && k < count; k++)
			strcat(strcat(joined, files[k].name), " ");
		CU_ASSERT_STRING_EQUAL(joined, indexes[i].files ? indexes[i].files : "");
		arena_free(&arena);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"headers that are read, and refused", test_headers},
		{"names, types, shapes", test_values},
		{"lengths of headers", test_lengths},
		{"headers of haul's archives", test_archives},
		{"index of a model", test_index},
		CU_TEST_INFO_NULL,
	};

	return unit_main("safetensors_read", tests);
}
