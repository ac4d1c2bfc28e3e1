/* Writing traces of key-value caches: see trace.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/decimal.h"
#include "core/text_writer.h"
#include "core/time_ns.h"
#include "workloads/trace/names.h"
#include "workloads/trace/trace_forms.h"

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

static const struct {
	const char *header;
	void (*write)(struct trace_writer *w, const struct trace_row *row);
} trace_forms[TRACE_FORMAT_COUNT] = {
	[TRACE_FORMAT_CSV] = {TRACE_COLUMNS "\r\n", trace_write_table},
	[TRACE_FORMAT_FULL] = {TRACE_COLUMNS TRACE_MORE_COLUMNS "\r\n", trace_write_table},
	[TRACE_FORMAT_FIO] = {"fio version 3 iolog\n", trace_write_fio},
	[TRACE_FORMAT_WARP] = {TRACE_WARP_COLUMNS "\n", trace_write_warp},
};

int trace_create_as(struct trace_writer *w, const char *path, enum trace_format format,
		    uint64_t piece, bool force, struct err *err)
{
	const char *header = trace_forms[format].header;
	int rc;

	*w = (struct trace_writer){.format = format, .piece = piece};
	rc = text_writer_open(&w->text, path, force, err);
	if (rc == 0)
		text_writer_add(w->text, header, strlen(header));
	return rc;
}

int trace_create(struct trace_writer *w, const char *path, bool force, struct err *err)
{
	return trace_create_as(w, path, TRACE_FORMAT_CSV, 0, force, err);
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
