/* The head of an HTTP answer: what of it matters here, taken line by line, whatever the transport. */
#ifndef HAUL_BACKENDS_HTTP_WIRE_ANSWER_H
#define HAUL_BACKENDS_HTTP_WIRE_ANSWER_H

#include <stddef.h>
#include <stdint.h>

enum {
	ANSWER_DATE_BYTES = 40,
	ANSWER_ETAG_BYTES = 80,
	ANSWER_CODE_BYTES = 64,
	ANSWER_SUM_BYTES = 32,
	ANSWER_LOCATION_BYTES = 2048
};

#define ANSWER_UNKNOWN UINT64_MAX

struct http_answer {
	uint16_t status;
	uint64_t length;                     /* of the body; ANSWER_UNKNOWN: not said */
	uint64_t range_first, range_total;   /* Content-Range; ANSWER_UNKNOWN: not said */
	char retry_after[ANSWER_DATE_BYTES]; /* as they came: read by the functions below */
	char date[ANSWER_DATE_BYTES];
	char etag[ANSWER_ETAG_BYTES]; /* as it came, quotes included */
	char code[ANSWER_CODE_BYTES]; /* x-ms-error-code, or the body's <Code> */
	/* Of the content, in base64, maybe with "-" and a number of parts; "": not said. */
	char md5[ANSWER_SUM_BYTES], crc32c[ANSWER_SUM_BYTES];
	char location[ANSWER_LOCATION_BYTES];
};

void answer_clear(struct http_answer *a);

/* One line without its end, n bytes, not terminated. A status line begins the answer anew (what came
 * before was 100 Continue). What is malformed is left out. */
void answer_line(struct http_answer *a, const char *line, size_t n);

/* Seconds since 1970, 0: not said. */
int64_t answer_date(const struct http_answer *a);
/* Seconds, 0: not said. A date counts from the answer's own. */
uint64_t answer_retry_after(const struct http_answer *a);

#endif
