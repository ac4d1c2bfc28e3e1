/* Traces for programs that take other formats: see trace_forms.h. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/decimal.h"
#include "core/text_writer.h"
#include "core/time_ns.h"
#include "workloads/trace/names.h"
#include "workloads/trace/trace_forms.h"

enum { OTHER_NAME_BYTES = 3 * TRACE_KEY_MAX + 16, OTHER_ROW_BYTES = OTHER_NAME_BYTES + 512 };

/* The name of a file that has neither blanks, which end a word of fio, nor folders, which fio does not make: all other bytes are
 * written as "%2F". */
static char *other_file(char *at, const struct trace_row *row)
{
	static const char digits[] = "0123456789ABCDEF";

	at = stpcpy(at, "tier");
	at = decimal_put(at, row->tier, 1);
	*at++ = '.';
	for (const char *c = row->key; *c; c++) {
		unsigned char byte = (unsigned char)*c;

		if ((byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
		    (byte >= 'a' && byte <= 'z') || byte == '-' || byte == '_') {
			*at++ = *c;
			continue;
		}
		*at++ = '%';
		*at++ = digits[byte >> 4];
		*at++ = digits[byte & 15];
	}
	*at = '\0';
	return at;
}

/* A file of an iolog, at a time. */
struct fio_file {
	struct trace_writer *writer;
	uint64_t
		us; /* since the beginning of the log, from 1 on: fio does not wait after a line of time 0 */
	size_t length;
	char name[OTHER_NAME_BYTES];
};

/* "1000 tier2.k open", "1000 tier2.k write 0 4096". bytes 0: without numbers. */
static void fio_line(const struct fio_file *f, const char *action, uint64_t offset, uint64_t bytes)
{
	char text[OTHER_ROW_BYTES], *at = decimal_put(text, f->us, 1);

	*at++ = ' ';
	at = mempcpy(at, f->name, f->length);
	*at++ = ' ';
	at = stpcpy(at, action);
	if (bytes) {
		*at++ = ' ';
		at = decimal_put(at, offset, 1);
		*at++ = ' ';
		at = decimal_put(at, bytes, 1);
	}
	*at++ = '\n';
	text_writer_add(f->writer->text, text, (size_t)(at - text));
}

/* The first row about a file adds it. */
static void fio_add(const struct fio_file *f)
{
	struct trace_writer *w = f->writer;
	uint32_t before, number;

	if (!w->names)
		w->names = calloc(1, sizeof(*w->names));
	if (!w->names) {
		w->failed = true;
		return;
	}
	before = w->names->count;
	if (trace_names_add(w->names, f->name, f->length, &number) < 0)
		w->failed = true;
	else if (number == before)
		fio_line(f, "add", 0, 0);
}

void trace_write_fio(struct trace_writer *w, const struct trace_row *row)
{
	const char *action = row->operation == TRACE_READ ? "read" : "write";
	uint64_t us = row->ns / NS_PER_US, piece = w->piece ? w->piece : row->bytes;
	struct fio_file f = {.writer = w};

	if (row->operation == TRACE_DELETE)
		return;
	if (!w->rows)
		w->first_us = us;
	f.us = us > w->first_us ? us - w->first_us + 1 : 1;
	f.length = (size_t)(other_file(f.name, row) - f.name);
	fio_add(&f);
	fio_line(&f, "open", 0, 0);
	for (uint64_t at = 0; at < row->bytes; at += piece)
		fio_line(&f, action, at, row->bytes - at < piece ? row->bytes - at : piece);
	fio_line(&f, "close", 0, 0);
}

/* "2026-01-31T23:59:59.000000001Z" */
static char *warp_time(char *at, uint64_t ns)
{
	time_t when = (time_t)(ns / NS_PER_S);
	struct tm tm;

	gmtime_r(&when, &tm);
	at += strftime(at, 32, "%Y-%m-%dT%H:%M:%S.", &tm);
	at = decimal_put(at, ns % NS_PER_S, 9);
	*at++ = 'Z';
	*at++ = '\t';
	return at;
}

static char *warp_number(char *at, uint64_t value)
{
	at = decimal_put(at, value, 1);
	*at++ = '\t';
	return at;
}

void trace_write_warp(struct trace_writer *w, const struct trace_row *row)
{
	static const char *const words[] = {
		[TRACE_READ] = "GET\t", [TRACE_WRITE] = "PUT\t", [TRACE_DELETE] = "DELETE\t"};
	uint64_t end_ns = row->ns + row->origin.latency_ns;
	bool reads = row->operation == TRACE_READ;
	char text[OTHER_ROW_BYTES], *at = warp_number(text, w->rows);

	at = warp_number(at, 0);
	at = stpcpy(at, words[row->operation]);
	at = warp_number(at, row->origin.rank);
	at = warp_number(at, 1);
	at = warp_number(at, row->operation == TRACE_DELETE ? 0 : row->bytes);
	at = stpcpy(at, "trace://\t");
	at = other_file(at, row);
	at = stpcpy(at, "\t\t");
	at = warp_time(at, row->ns);
	if (reads)
		at = warp_time(at, end_ns);
	else
		*at++ = '\t';
	if (reads)
		at = warp_time(at, end_ns);
	else
		*at++ = '\t';
	at = warp_time(at, end_ns);
	at = warp_number(at, row->origin.latency_ns);
	*at++ = '0';
	*at++ = '\n';
	text_writer_add(w->text, text, (size_t)(at - text));
}
