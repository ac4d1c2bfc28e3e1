/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of names from a template and from a list of names. */
#include "workloads/dataset/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit.h"
#include "workloads/dataset/dataset.h"

static void test_expanded(void)
{
	static const struct {
		const char *template;
		uint64_t i, n;
		const char *name;
	} cases[] = {
		{"img_{i:07d}_of_{n}.npz", 12, 8400, "img_0000012_of_8400.npz"},
		{"img_{i:07}_of_{n:010}.npz", 12, 8400, "img_0000012_of_0000008400.npz"},
		{"{i}", 0, 1, "0"},
		{"{i}", 159999999, 160000000, "159999999"},
		{"{i/1000:03}/{i%1000:04d}.jpeg", 12345, 20000, "012/0345.jpeg"},
		{"part-{i+1:05}-of-{n:05}", 0, 128, "part-00001-of-00128"},
		{"{i%16+1:02}/{i}.bin", 31, 32, "16/31.bin"},
		{"{i/100%10}/{i:03}", 123, 1000, "1/123"},
		{"{i/10:03}/{i%10+1:02}", 47, 48, "004/08"},
		{"{{{i}}}", 7, 8, "{7}"},
		{"{i:01}", 123, 1000, "123"},
	};

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct err err = {0};
		char name[128];

		CU_ASSERT_EQUAL(names_check(cases[k].template, cases[k].n, sizeof(name), &err), 0);
		names_expand(cases[k].template, cases[k].i, cases[k].n, name, sizeof(name));
		CU_ASSERT_STRING_EQUAL(name, cases[k].name);
	}
}

static void test_refused(void)
{
	static const struct {
		const char *template, *says;
	} cases[] = {
		{"img.npz", "gives several files one name"},
		{"img_{n}.npz", "gives several files one name"},
		{"img_{i%4}.npz", "gives several files one name"},
		{"{i/10}/{i%9}", "gives several files one name"},
		{"{i+1/10}/{i%10}", "gives several files one name"},
		{"{j}", "known are {i}, the file's number, and {n}"},
		{"{}", "known are {i}"},
		{"{i", "\"}\""},
		{"a}b{i}", "a closing brace without an opening one"},
		{"{i:7}", "\":\" is followed by 0 and the number of digits"},
		{"{i:0}", "\":\" is followed by 0 and the number of digits"},
		{"{i:021}", "20 digits at most"},
		{"{i:07x}", "wants \"}\""},
		{"{i/0}", "nothing can be divided by 0"},
		{"{i+}", "a whole number must follow"},
		{"{i+99999999999999999999}", "the number is too large"},
		{"{i+1+1+1+1+1}", "has too many steps"},
		{"{i}{n}", "something other than digits must stand between"},
		{"{i}12{n}", "something other than digits must stand between"},
		{"/a/{i}", "must be a plain path"},
		{"a//{i}", "must be a plain path"},
		{"../{i}", "must be a plain path"},
		{"{i}/", "must be a plain path"},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa{i}",
		 "gives names of more than 62 bytes"},
	};

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct err err = {0};

		CU_ASSERT_EQUAL(names_check(cases[k].template, 100, 64, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[k].says));
		if (!strstr(err.text, cases[k].says))
			printf("%s: %s\n", cases[k].template, err.text);
	}
}

/* DLIO's own names, as its generator makes them (determined by hand). */
static void test_dlio(void)
{
	static const struct {
		const char *names, *prefix, *folder;
		uint64_t files, subfolders, file;
		const char *key;
	} cases[] = {
		{"dlio", "img", "data/unet3d", 168, 0, 5, "data/unet3d/train/img_005_of_168.npz"},
		{"dlio", "img", "", 64, 0, 63, "train/img_63_of_64.npz"},
		{"dlio_valid", "img", "d", 8, 0, 0, "d/valid/img_0_of_8.npz"},
		{"dlio", "img", "d", 64, 2, 7, "d/train/1/img_07_of_64.npz"},
		{"dlio", "img", "d", 1000, 10, 13, "d/train/03/img_0013_of_1000.npz"},
		/* one subfolder counts as none */
		{"dlio", "part", "d", 64, 1, 7, "d/train/part_07_of_64.npz"},
		{"dlio", "", "d", 64, 0, 7, "d/train/_07_of_64.npz"},
		{"haul", "", "d", 64, 0, 7, "d/07_of_64.npz"},
		{"haul", "", "", 64, 1, 7, "0/07_of_64.npz"},
	};

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct dataset_options o = {.format = FORMAT_NPZ,
					    .files = cases[k].files,
					    .samples_per_file = 1,
					    .sample_bytes = 1000,
					    .subfolders = cases[k].subfolders};
		char key[OBJECT_KEY_BYTES];
		struct err err = {0};
		struct dataset d;

		strcpy(o.names, cases[k].names);
		strcpy(o.prefix, cases[k].prefix);
		strcpy(o.folder, cases[k].folder);
		CU_ASSERT_EQUAL_FATAL(dataset_init(&d, &o, 1, "/dataset", &err), 0);
		dataset_key(&d, cases[k].file, key);
		CU_ASSERT_STRING_EQUAL(key, cases[k].key);
		CU_ASSERT_EQUAL(d.existing, strcmp(cases[k].names, "haul") != 0);
	}
}

static void list_file(const char *path, const char *text, size_t bytes)
{
	FILE *f = fopen(path, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(fwrite(text, 1, bytes, f), bytes);
	fclose(f);
}

static void test_list(void)
{
	static const char text[] = "\xef\xbb\xbf"
				   "a.npz\r\n\n./b/c d.npz\n\r\n/mnt/x/e.npz\n# f\nlast";
	static const char *const names[] = {"a.npz", "b/c d.npz", "mnt/x/e.npz", "# f", "last"};
	char path[] = "./test_dataset_names.XXXXXX", name[32];
	struct name_list l;
	struct err err = {0};

	close(mkstemp(path));
	list_file(path, text, sizeof(text) - 1);
	CU_ASSERT_EQUAL_FATAL(name_list_open(&l, path, sizeof(name), &err), 0);
	CU_ASSERT_EQUAL_FATAL(l.names, 5);
	for (uint64_t i = 0; i < l.names; i++) {
		name_list_at(&l, i, name, sizeof(name));
		CU_ASSERT_STRING_EQUAL(name, names[i]);
	}
	/* The file is truncated after it was opened. */
	CU_ASSERT_EQUAL(truncate(path, 10), 0);
	name_list_at(&l, 4, name, sizeof(name));
	CU_ASSERT_PTR_NOT_NULL(strstr(name, "name 4 of the list"));
	/* Now the file contains a name outside the store. */
	list_file(path, "../../../x\n", 11);
	name_list_at(&l, 0, name, sizeof(name));
	CU_ASSERT_PTR_NOT_NULL(strstr(name, "name 0 of the list"));
	name_list_close(&l);
	unlink(path);
}

/* Many names of many lengths, across the borders of pieces and of the index. */
static void test_long_list(void)
{
	enum { NAMES = 100000 };
	char path[] = "./test_dataset_names.XXXXXX", name[256], want[256];
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	struct name_list l;
	struct err err = {0};

	for (int i = 0; i < NAMES; i++)
		fprintf(f, "%d-%.*s%s", i, i % 180,
			"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			"xxxxxxxxxxxxxxxxxxxxxxxxxx",
			i % 7 ? "\n" : "\r\n\n");
	fclose(f);
	CU_ASSERT_EQUAL_FATAL(name_list_open(&l, path, sizeof(name), &err), 0);
	CU_ASSERT_EQUAL(l.names, NAMES);
	CU_ASSERT_EQUAL(l.place_count, (NAMES + NAME_LIST_EVERY - 1) / NAME_LIST_EVERY);
	for (int i = 0; i < NAMES; i += 13) {
		int n = snprintf(want, sizeof(want), "%d-", i);

		name_list_at(&l, (uint64_t)i, name, sizeof(name));
		CU_ASSERT_EQUAL(strlen(name), (size_t)(n + i % 180));
		CU_ASSERT_EQUAL(strncmp(name, want, (size_t)n), 0);
	}
	name_list_close(&l);
	unlink(path);
}

static void test_list_refused(void)
{
	static const struct {
		const char *text;
		size_t bytes;
		const char *says;
	} cases[] = {
		{"", 0, "holds no name"},
		{"\n\r\n\n", 4, "holds no name"},
		{"a\nb\0c\n", 6, "there is a zero byte in line 1 or after it"},
		{"a\n../b\n", 7, "line 2: a name must not leave the folder"},
		{"a/../../b\r\n", 11, "line 1: a name must not leave the folder"},
		{"a/..\r\n", 6, "line 1: a name must not leave the folder"},
		{"a\n0123456789abcdef\n", 19, "line 2 has 16 bytes; a name has at most 15 here"},
	};
	char path[] = "./test_dataset_names.XXXXXX";

	close(mkstemp(path));
	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct name_list l;
		struct err err = {0};

		list_file(path, cases[k].text, cases[k].bytes);
		CU_ASSERT_EQUAL(name_list_open(&l, path, 16, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[k].says));
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, path));
	}
	unlink(path);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"expanded", test_expanded},
		{"refused", test_refused},
		{"dlio", test_dlio},
		{"list", test_list},
		{"long list", test_long_list},
		{"list refused", test_list_refused},
		CU_TEST_INFO_NULL,
	};

	return unit_main("dataset_names", tests);
}
