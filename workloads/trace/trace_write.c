/* SPDX-License-Identifier: Apache-2.0 */
/* Writing traces of key-value caches: see trace.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/decimal.h"
#include "core/json.h"
#include "core/text_writer.h"
#include "core/time_ns.h"
#include "workloads/trace/fields.h"
#include "workloads/trace/trace.h"

#define TRACE_COLUMNS      "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
#define TRACE_MORE_COLUMNS ",Request,User,Rank,Latency_ns"
#define TRACE_WARP_COLUMNS \
	"idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\t" \
	"last_byte\tend\tduration_ns\tcat"

/* A row at most: its numbers and words, and a key of which each byte may be doubled and quoted. */
enum { TRACE_ROW_BYTES = 256 + 2 * TRACE_KEY_MAX, US_PER_S = 1000000 };

/* Quoted where it has a comma or a quote. */
static char *row_key(char *at, const struct trace_row *row)
{
	if (!strpbrk(row->key, ",\"\r\n"))
		return mempcpy(at, row->key, row->key_length);
	*at++ = '"';
	for (size_t i = 0; i < row->key_length; i++) {
		if (row->key[i] == '"')
			*at++ = '"';
		*at++ = row->key[i];
	}
	*at++ = '"';
	return at;
}

static char *row_plain(char *at, const struct trace_row *row)
{
	uint64_t us = row->ns / NS_PER_US;

	at = decimal_put(at, us / US_PER_S, 1);
	*at++ = '.';
	at = decimal_put(at, us % US_PER_S, 6);
	*at++ = ',';
	at = stpcpy(at, trace_operation_names[row->operation]);
	*at++ = ',';
	at = decimal_put(at, row->bytes, 1);
	at = stpcpy(at, ",Tier-");
	at = decimal_put(at, row->tier, 1);
	*at++ = ',';
	at = row_key(at, row);
	*at++ = ',';
	return stpcpy(at, trace_phase_names[row->phase]);
}

/* Nothing where nobody asked. */
static char *row_asker(char *at, uint64_t number)
{
	*at++ = ',';
	return number == TRACE_NOBODY ? at : decimal_put(at, number, 1);
}

static void trace_write_table(struct trace_writer *w, const struct trace_row *row)
{
	char text[TRACE_ROW_BYTES], *at = row_plain(text, row);

	if (w->format == TRACE_FORMAT_FULL) {
		at = row_asker(at, row->origin.request);
		at = row_asker(at, row->origin.user);
		*at++ = ',';
		at = decimal_put(at, row->origin.rank, 1);
		*at++ = ',';
		at = decimal_put(at, row->origin.latency_ns, 1);
	}
	at = stpcpy(at, "\r\n");
	text_writer_add(w->text, text, (size_t)(at - text));
}

enum { OTHER_NAME_BYTES = 3 * TRACE_KEY_MAX + 16, OTHER_ROW_BYTES = OTHER_NAME_BYTES + 512 };

char *trace_escape(char *at, const char *key)
{
	static const char digits[] = "0123456789ABCDEF";

	for (const char *c = key; *c; c++) {
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

/* The name of a file of fio, whose words end at blanks, and which makes no folders. */
static char *other_file(char *at, const struct trace_row *row)
{
	at = decimal_put(stpcpy(at, "tier"), row->tier, 1);
	*at++ = '.';
	return trace_escape(at, row->key);
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

/* fio's iolog, version 3: each line has its time in microseconds. An object is a file of its own,
 * "tier2.KEY" in the folder where fio runs. Each operation opens its file, reads or writes it in
 * pieces, and closes it. There are no deletes. */
static void trace_write_fio(struct trace_writer *w, const struct trace_row *row)
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

/* The operation log that warp analyses: GET, PUT and DELETE of "tier2.KEY". */
static void trace_write_warp(struct trace_writer *w, const struct trace_row *row)
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

static const struct {
	const char *header;
	void (*write)(struct trace_writer *w, const struct trace_row *row);
} trace_forms[TRACE_FORMAT_COUNT] = {
	[TRACE_FORMAT_CSV] = {TRACE_COLUMNS "\r\n", trace_write_table},
	[TRACE_FORMAT_FULL] = {TRACE_COLUMNS TRACE_MORE_COLUMNS "\r\n", trace_write_table},
	[TRACE_FORMAT_FIO] = {"fio version 3 iolog\n", trace_write_fio},
	[TRACE_FORMAT_WARP] = {TRACE_WARP_COLUMNS "\n", trace_write_warp},
};

int trace_create(struct trace_writer *w, const char *path, enum trace_format format, uint64_t piece,
		 bool force, struct err *err)
{
	const char *header = trace_forms[format].header;
	int rc;

	*w = (struct trace_writer){.format = format, .piece = piece};
	rc = text_writer_open(&w->text, path, force, err);
	if (rc == 0)
		text_writer_add(w->text, header, strlen(header));
	return rc;
}

void trace_write(struct trace_writer *w, const struct trace_row *row)
{
	trace_forms[w->format].write(w, row);
	w->rows++;
}

int trace_finish(struct trace_writer *w, const char *path, struct err *err)
{
	int rc = text_writer_close(w->text, path, err);

	if (w->names) {
		trace_names_free(w->names);
		free(w->names);
		w->names = NULL;
	}
	if (rc == 0 && w->failed)
		rc = err_set(err, -ENOMEM, "%s: no memory for the names of its files", path);
	return rc;
}

void trace_pass(struct trace_reader *t, const char *prefix, const char *name)
{
	struct trace_passed *p = t->passed_by;
	char text[sizeof(p->name)];
	int i = 0;

	snprintf(text, sizeof(text), "%s%.16s", prefix, json_text_plain(name) ? name : "?");
	while (i < TRACE_PASSED_MAX - 1 && p[i].name[0] && strcmp(p[i].name, text) != 0)
		i++;
	if (!p[i].name[0])
		snprintf(p[i].name, sizeof(p[i].name), "%s",
			 i < TRACE_PASSED_MAX - 1 ? text : "others");
	p[i].count++;
	t->passed++;
}

bool trace_bytes_differ(const struct trace_reader *t)
{
	uint64_t apart = t->row_bytes > t->log_bytes ? t->row_bytes - t->log_bytes
						     : t->log_bytes - t->row_bytes;

	return apart > t->log_bytes / 100;
}

void trace_passed_text(const struct trace_reader *t, char *out, size_t room)
{
	int length = 0;

	*out = '\0';
	if (trace_bytes_differ(t))
		length = snprintf(out, room,
				  "the replay moves %" PRIu64 " bytes where the log moved %" PRIu64
				  ", since objects are written whole or not at all%s",
				  t->row_bytes, t->log_bytes, t->passed ? "; " : "");
	if (!t->passed)
		return;
	length += snprintf(out + length, room - (size_t)length, "%" PRIu64 " %s left out",
			   t->passed, t->passed == 1 ? "operation was" : "operations were");
	for (int i = 0; i < TRACE_PASSED_MAX && t->passed_by[i].count; i++)
		if ((size_t)length < room)
			length += snprintf(out + length, room - (size_t)length, "%s %" PRIu64 " %s",
					   i ? "," : ":", t->passed_by[i].count,
					   t->passed_by[i].name);
}
