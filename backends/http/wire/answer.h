/* SPDX-License-Identifier: Apache-2.0 */
/* Head of an HTTP answer: what of it matters here, taken line by line, whatever the transport. */
#ifndef HAUL_BACKENDS_HTTP_WIRE_ANSWER_H
#define HAUL_BACKENDS_HTTP_WIRE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ANSWER_DATE_BYTES = 40,
	ANSWER_ETAG_BYTES = 80,
	ANSWER_GENERATION_BYTES = 128,
	ANSWER_CODE_BYTES = 64,
	ANSWER_SUM_BYTES = 32,
	ANSWER_LOCATION_BYTES = 2048,
	ANSWER_HEAD_BYTES = 256 << 10 /* of all lines of an answer together, at most */
};

#define ANSWER_UNKNOWN UINT64_MAX

struct http_answer {
	uint16_t status;
	bool length_malformed; /* there is a Content-Length, and it is not a number of bytes */
	uint64_t length;       /* of the body; ANSWER_UNKNOWN where it is not given */
	/* Content-Range; ANSWER_UNKNOWN where it is not given */
	uint64_t range_first, range_last, range_total;
	char retry_after[ANSWER_DATE_BYTES]; /* as they came; the functions below read them */
	char date[ANSWER_DATE_BYTES];
	char etag[ANSWER_ETAG_BYTES]; /* as it came, with its quotes */
	char version
		[ANSWER_GENERATION_BYTES]; /* the store's own name of the object's version; "": it has none */
	char modified[ANSWER_DATE_BYTES];
	char code[ANSWER_CODE_BYTES]; /* x-ms-error-code, or the body's <Code> */
	/* Checksums of the content in base64, maybe followed by "-" and a number of parts; "": not
	 * given. */
	char md5[ANSWER_SUM_BYTES], crc32c[ANSWER_SUM_BYTES];
	char location[ANSWER_LOCATION_BYTES];
};

void answer_clear(struct http_answer *a);

/* Takes one line of n bytes without its end; it need not be terminated. A status line begins the
 * answer anew, for what came before it was 100 Continue. Malformed lines are left out. */
void answer_line(struct http_answer *a, const char *line, size_t n);

/* Takes one header, whose name and value the caller has told apart; there are no blanks around
 * them, and no NUL in them. */
void answer_header(struct http_answer *a, const char *name, size_t name_bytes, const char *value,
		   size_t value_bytes);

/* Seconds since 1970; 0 where the answer has no date. */
int64_t answer_date(const struct http_answer *a);
/* The same of when the object was made. */
int64_t answer_modified(const struct http_answer *a);
/* Seconds; 0 where the answer asks for none. A date is counted from the answer's own. */
uint64_t answer_retry_after(const struct http_answer *a);

#endif
