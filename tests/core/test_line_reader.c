/* SPDX-License-Identifier: Apache-2.0 */
/* Line reader and text writer: lines of every length, plain and compressed, whole and cut off. */
#include "core/line_reader.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/file_read.h"
#include "core/text_writer.h"
#include "tests/test_folder.h"
#include "tests/unit.h"

static char folder[] = "/tmp/haul-lines-XXXXXX";

static const char *at(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* The lines of a text in memory, with "|" between them, and the last error. */
static int lines_of(const char *text, size_t bytes, char out[256], struct err *err)
{
	struct line_reader *r;
	size_t length;
	char *line;
	int rc;

	out[0] = '\0';
	CU_ASSERT_EQUAL_FATAL(line_reader_open_memory(&r, text, bytes, err), 0);
	while ((rc = line_reader_next(r, &line, &length, err)) > 0) {
		CU_ASSERT_EQUAL(strlen(line), length);
		snprintf(out + strlen(out), 256 - strlen(out), "%s|", line);
	}
	line_reader_close(r);
	return rc;
}

/* A text whose last piece is a single byte, as a file of 64 KiB + 1 has it, is whole. */
static void test_sizes_of_pieces(void)
{
	static const size_t sizes[] = {0, 1, 2, 65535, 65536, 65537, 131073};
	static char text[131073];

	memset(text, 'x', sizeof(text));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct line_reader *r;
		struct err err = {0};
		const char *piece;
		size_t bytes, all = 0;
		FILE *f = fopen(at("sized"), "w");
		int rc;

		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_EQUAL(fwrite(text, 1, sizes[i], f), sizes[i]);
		fclose(f);
		CU_ASSERT_EQUAL_FATAL(line_reader_open(&r, at("sized"), &err), 0);
		while ((rc = line_reader_piece(r, &piece, &bytes, &err)) > 0)
			all += bytes;
		CU_ASSERT_EQUAL(rc, 0);
		CU_ASSERT_EQUAL(all, sizes[i]);
		line_reader_close(r);
	}
}

static void test_lines(void)
{
	static const char *const rows[][2] = {
		{"", ""},
		{"a", "a|"},
		{"a\n", "a|"},
		{"a\r\nb\r\n", "a|b|"},
		{"a\n\nb", "a||b|"},
		{"\r\n", "|"},
		{"\n\n", "||"},
		{"a\rb\n", "a\rb|"},
		{"ab\r", "ab\r|"},
		{"(\xb5/", "(\xb5/|"},
	};
	struct err err = {0};
	char out[256];

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CU_ASSERT_EQUAL(lines_of(rows[i][0], strlen(rows[i][0]), out, &err), 0);
		CU_ASSERT_STRING_EQUAL(out, rows[i][1]);
	}
}

/* A line that is too long is refused, and the next one is read. */
static void test_long_lines(void)
{
	static const size_t lengths[] = {LINE_MAX_BYTES, LINE_MAX_BYTES + 1, 2 * LINE_MAX_BYTES - 2,
					 2 * LINE_MAX_BYTES + 2, 1200000};
	static char text[1600000];

	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (int more = 0; more < 2; more++) {
			size_t n = lengths[i], length;
			struct line_reader *r;
			struct err err = {0};
			char *line;

			memset(text, 'x', sizeof(text));
			memcpy(text, "first\n", 6);
			memcpy(text + 6 + n, "\nlast", 5);
			line_reader_open_memory(&r, text, 6 + n + (more ? 5 : 0), &err);
			CU_ASSERT_EQUAL(line_reader_next(r, &line, &length, &err), 1);
			CU_ASSERT_EQUAL(line_reader_next(r, &line, &length, &err),
					n > LINE_MAX_BYTES ? -EMSGSIZE : 1);
			CU_ASSERT_EQUAL(line_reader_number(r), 2);
			CU_ASSERT_EQUAL(line_reader_next(r, &line, &length, &err), more);
			if (more) {
				CU_ASSERT_STRING_EQUAL(line, "last");
				CU_ASSERT_EQUAL(line_reader_number(r), 3);
			}
			line_reader_close(r);
		}
}

/* Writes many lines, and returns their bytes in the file. What ends in ".gz" is compressed by gzip. */
static size_t write_lines(const char *name, unsigned count)
{
	bool gzip = strstr(name, ".gz");
	struct text_writer *w;
	struct err err = {0};
	char line[32];
	FILE *f;
	long bytes;

	CU_ASSERT_EQUAL_FATAL(text_writer_open(&w, at(gzip ? "raw" : name), true, &err), 0);
	for (unsigned i = 0; i < count; i++)
		text_writer_add(w, line, (size_t)snprintf(line, sizeof(line), "line %u\n", i));
	CU_ASSERT_EQUAL(text_writer_close(w, at(gzip ? "raw" : name), &err), 0);
	if (gzip) {
		char command[1024];

		snprintf(command, sizeof(command), "cd %s && gzip -c raw > %s", folder, name);
		CU_ASSERT_EQUAL_FATAL(system(command), 0);
	}
	f = fopen(at(name), "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fseek(f, 0, SEEK_END);
	bytes = ftell(f);
	fclose(f);
	return (size_t)bytes;
}

static void test_files(void)
{
	static const char *const names[] = {"plain", "packed.zst", "packed.gz"};
	enum { MANY = 200000 };
	size_t bytes[3];

	for (int i = 0; i < 3; i++) {
		struct line_reader *r;
		struct err err = {0};
		char wanted[32], *line;
		unsigned wrong = 0;
		size_t length;

		bytes[i] = write_lines(names[i], MANY);
		CU_ASSERT_EQUAL_FATAL(line_reader_open(&r, at(names[i]), &err), 0);
		for (unsigned n = 0; n < MANY; n++) {
			snprintf(wanted, sizeof(wanted), "line %u", n);
			wrong += line_reader_next(r, &line, &length, &err) != 1 ||
				 strcmp(line, wanted) != 0;
		}
		CU_ASSERT_EQUAL(wrong, 0);
		CU_ASSERT_EQUAL(line_reader_next(r, &line, &length, &err), 0);
		line_reader_close(r);
	}
	CU_ASSERT(bytes[1] < bytes[0] / 5);
}

/* The pieces of a text are the text, lines or not, plain and compressed. */
static void test_pieces(void)
{
	static const char *const names[] = {"plain", "packed.zst", "packed.gz"};
	enum { MANY = 200000 };

	for (int i = 0; i < 3; i++) {
		struct line_reader *r;
		struct err err = {0};
		const char *piece;
		char wanted[32];
		size_t bytes, at_byte = 0, length = 0;
		unsigned wrong = 0, n = 0;
		int rc;

		write_lines(names[i], MANY);
		CU_ASSERT_EQUAL_FATAL(line_reader_open(&r, at(names[i]), &err), 0);
		while ((rc = line_reader_piece(r, &piece, &bytes, &err)) > 0) {
			wrong += bytes == 0;
			for (size_t k = 0; k < bytes; k++) {
				if (at_byte == length) {
					length = (size_t)snprintf(wanted, sizeof(wanted),
								  "line %u\n", n++);
					at_byte = 0;
				}
				wrong += piece[k] != wanted[at_byte++];
			}
		}
		CU_ASSERT_EQUAL(rc, 0);
		CU_ASSERT_EQUAL(wrong, 0);
		CU_ASSERT_EQUAL(n, MANY);
		CU_ASSERT_EQUAL(at_byte, length);
		CU_ASSERT_EQUAL(line_reader_piece(r, &piece, &bytes, &err), 0);
		line_reader_close(r);
	}
}

/* Wherever a compressed file is cut off, its end is noticed; and so is damage of its checksum. */
static void test_cut_off(void)
{
	static const struct {
		const char *name, *cut, *damaged;
		size_t checksum; /* bytes from the end */
	} cases[] = {{"cut.zst", "in the middle of a frame", "not valid zstd", 1},
		     {"cut.gz", "in the middle of a member", "its checksum is wrong", 5}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t bytes = write_lines(cases[i].name, 10);
		char packed[512], out[256];
		FILE *f = fopen(at(cases[i].name), "r");
		struct err err = {0};

		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_EQUAL_FATAL(fread(packed, 1, sizeof(packed), f), bytes);
		fclose(f);
		for (size_t n = 4; n < bytes; n++) {
			CU_ASSERT_EQUAL(lines_of(packed, n, out, &err), -EBADMSG);
			CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].cut));
		}
		CU_ASSERT_EQUAL(lines_of(packed, bytes, out, &err), 0);
		/* Two frames are one text. */
		memcpy(packed + bytes, packed, bytes);
		CU_ASSERT_EQUAL(lines_of(packed, 2 * bytes, out, &err), 0);
		CU_ASSERT_EQUAL(strlen(out), 2 * 10 * strlen("line 0|"));
		packed[bytes - cases[i].checksum] ^= 1;
		CU_ASSERT_EQUAL(lines_of(packed, bytes, out, &err), -EBADMSG);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].damaged));
	}
}

static void test_errors(void)
{
	struct text_writer *w;
	struct line_reader *r;
	struct err err = {0};
	struct rlimit limit;
	size_t length;
	char *line;

	CU_ASSERT_EQUAL(line_reader_open(&r, at("absent"), &err), -ENOENT);
	/* Into which nobody writes. */
	CU_ASSERT_EQUAL_FATAL(mkfifo(at("fifo"), 0600), 0);
	CU_ASSERT_EQUAL_FATAL(line_reader_open(&r, at("fifo"), &err), 0);
	CU_ASSERT_EQUAL(line_reader_next(r, &line, &length, &err), 0);
	line_reader_close(r);
	CU_ASSERT_EQUAL(file_refuse_pipe(at("fifo"), &err), -ESPIPE);
	CU_ASSERT_EQUAL(file_refuse_pipe(at("absent"), &err), 0);
	CU_ASSERT_EQUAL(file_refuse_pipe("/dev/null", &err), 0);
	write_lines("there", 1);
	CU_ASSERT_EQUAL(text_writer_open(&w, at("there"), false, &err), -EEXIST);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "there exists; name another, or say --force"));
	CU_ASSERT_EQUAL(text_writer_open(&w, at("no/folder"), false, &err), -ENOENT);
	/* A device is no file that may be replaced. */
	CU_ASSERT_EQUAL(text_writer_open(&w, "/dev/full", true, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/dev/full is a device"));
	CU_ASSERT_EQUAL_FATAL(text_writer_open(&w, at("there"), true, &err), 0);
	text_writer_add(w, "x", 1);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = 0;
	setrlimit(RLIMIT_FSIZE, &limit);
	CU_ASSERT_EQUAL(text_writer_close(w, at("there"), &err), -EFBIG);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "there: File too large"));
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"lines", test_lines},
		{"long lines", test_long_lines},
		{"files", test_files},
		{"pieces", test_pieces},
		{"sizes of pieces", test_sizes_of_pieces},
		{"cut off", test_cut_off},
		{"errors", test_errors},
		CU_TEST_INFO_NULL,
	};

	return test_folder_main("line_reader", tests, folder);
}
