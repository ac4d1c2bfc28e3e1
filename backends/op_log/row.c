/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the operation log: see row.h. Text is formatted by hand, because the log drops records
 * when rows are made too slowly. */
#include "backends/op_log/row.h"

#include <string.h>
#include <time.h>

#include "backends/endpoint.h"
#include "core/time_ns.h"

/* The first fifteen columns are those of warp, in its order. Readers look them up by name. */
const char op_row_header[] =
	"idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\t"
	"last_byte\tend\tduration_ns\tcat\toffset\tattempts\tstatus\tphase\trun\n";

/* The words that logs of object stores use, where they have one. */
static const char *const op_words[REQ_OPS] = {
	[REQ_OPEN] = "OPEN",     [REQ_READ] = "GET",  [REQ_CLOSE] = "CLOSE",
	[REQ_BEGIN] = "BEGIN",   [REQ_WRITE] = "PUT", [REQ_COMMIT] = "COMMIT",
	[REQ_ABORT] = "ABORT",   [REQ_STAT] = "STAT", [REQ_DELETE] = "DELETE",
	[REQ_RENAME] = "RENAME", [REQ_LIST] = "LIST", [REQ_UPDATE] = "UPDATE",
};

static char *put_text(char *at, const char *text)
{
	size_t n = strlen(text);

	memcpy(at, text, n);
	return at + n;
}

static char *put_number(char *at, uint64_t n)
{
	char digits[20];
	unsigned count = 0;

	do {
		digits[count++] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	while (count)
		*at++ = digits[--count];
	return at;
}

static char *put_field(char *at, uint64_t n)
{
	at = put_number(at, n);
	*at++ = '\t';
	return at;
}

/* "2026-01-31T23:59:59.000000001Z"; writes nothing for a stamp of 0. */
static char *put_time(char *at, uint64_t stamp_ns, int64_t utc_ns, struct op_row_second *s)
{
	uint64_t ns = stamp_ns + (uint64_t)utc_ns, second = ns / NS_PER_S, rest = ns % NS_PER_S;

	if (stamp_ns && (second != s->second || !s->text[0])) {
		time_t when = (time_t)second;
		struct tm tm;

		s->second = second;
		gmtime_r(&when, &tm);
		strftime(s->text, sizeof(s->text), "%Y-%m-%dT%H:%M:%S.", &tm);
	}
	if (stamp_ns) {
		at = put_text(at, s->text);
		for (int i = 8; i >= 0; i--, rest /= 10)
			at[i] = (char)('0' + rest % 10);
		at += 9;
		*at++ = 'Z';
	}
	*at++ = '\t';
	return at;
}

static bool row_is_plain(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == '"')
			return false;
	return true;
}

static char *put_quoted(char *at, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '"')
			*at++ = '"';
		*at++ = text[i];
	}
	return at;
}

/* The complete name, in quotes where it contains a character that would end a field. */
static char *put_name(char *at, const struct op_record *r, const struct op_row_context *c)
{
	size_t root = strlen(c->root);
	bool quoted = !row_is_plain(c->root, root) || !row_is_plain(r->key, r->key_bytes);

	if (quoted)
		*at++ = '"';
	at = put_quoted(at, c->root, root);
	if (root && c->root[root - 1] != '/')
		*at++ = '/';
	at = put_quoted(at, r->key, r->key_bytes);
	if (quoted)
		*at++ = '"';
	*at++ = '\t';
	return at;
}

static char *put_endpoint(char *at, const struct op_record *r, const struct op_row_context *c)
{
	if (c->endpoints && r->endpoint < c->endpoints->count)
		at = put_text(at, c->endpoints->list[r->endpoint].name);
	else
		at = put_text(put_text(at, c->scheme), "://");
	*at++ = '\t';
	return at;
}

size_t op_row_write(char out[OP_ROW_BYTES], uint64_t idx, const struct op_record *r,
		    const struct op_row_context *c, struct op_row_second *second)
{
	bool whole = r->op == REQ_READ && !r->error;
	char *at = put_field(out, idx);

	at = put_field(at, c->thread);
	at = put_text(at, op_words[r->op]);
	*at++ = '\t';
	at = put_field(at, c->rank);
	at = put_field(at, r->entries);
	at = put_field(at, r->bytes);
	at = put_endpoint(at, r, c);
	at = put_name(at, r, c);
	at = put_text(at, r->error ? r->error : "");
	*at++ = '\t';
	at = put_time(at, r->submit_ns, c->utc_ns, second);
	at = put_time(at, r->first_byte_ns, c->utc_ns, second);
	at = put_time(at, whole ? r->done_ns : 0, c->utc_ns, second);
	at = put_time(at, r->done_ns, c->utc_ns, second);
	at = put_field(at, r->done_ns - r->submit_ns);
	at = put_field(at, 0);
	at = put_field(at, r->offset);
	at = put_field(at, r->attempts);
	at = put_field(at, r->protocol_status);
	at = put_text(at, c->phase);
	*at++ = '\t';
	at = put_number(at, c->run);
	*at++ = '\n';
	return (size_t)(at - out);
}
