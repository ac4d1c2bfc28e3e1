/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as haul reads and writes it, around cJSON: a strict check before cJSON sees a text, a
 * printer whose numbers read back as the same doubles, and words for messages. The check is needed
 * because cJSON is lenient with numbers and characters, recurses as deep as the text is nested, and
 * cannot tell where a fault is.
 *
 * No state; any thread. */
#ifndef HAUL_CORE_JSON_H
#define HAUL_CORE_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"

struct cJSON;

enum { JSON_DEPTH_LIMIT = 64, JSON_NUMBER_BYTES = 60, JSON_QUOTE_BYTES = 80 };

/* Largest whole number that every JSON reader keeps exactly: 2^53 - 1. */
#define JSON_WHOLE_MAX 9007199254740991.0

/* Checks that text is one JSON value (RFC 8259, UTF-8, finite numbers, no \u0000), at most
 * depth_max (<= JSON_DEPTH_LIMIT) deep and of at most values_max values. Does not recurse. Returns
 * -EINVAL with "line 3, column 12: sentence". */
int json_check(const char *text, size_t length, unsigned depth_max, unsigned values_max,
	       struct err *err);

/* Checks and parses. The caller owns *out (cJSON_Delete). */
int json_parse(struct cJSON **out, const char *text, size_t length, unsigned depth_max,
	       unsigned values_max, struct err *err);

/* Indented text that ends in a newline, with lists of plain values on one line. The caller frees
 * it. NULL: no memory. */
char *json_print(const struct cJSON *value);

/* The same on one line without spaces, and without a newline at the end. */
char *json_print_line(const struct cJSON *value);

/* A new object; json_free frees it with all that is in it. Where there is no memory, it is NULL,
 * and adding to it does nothing. text NULL: null. */
struct cJSON *json_object(void);
void json_add_text(struct cJSON *to, const char *key, const char *text);
void json_free(struct cJSON *value);

/* The number, or null where it is not finite (JSON knows no NaN); NULL: no memory. And the same,
 * added to an object. */
struct cJSON *json_number(double value);
void json_add_number(struct cJSON *to, const char *key, double value);

/* For messages. json_quote gives text in double quotes with control characters escaped, cut to fit.
 * json_describe tells what a value is: "four" in quotes, 1.5, true, null, "a list", "an object".
 * Both return buf. */
char *json_quote(char buf[JSON_QUOTE_BYTES], const char *text);
char *json_describe(char buf[JSON_QUOTE_BYTES], const struct cJSON *value);

/* Bytes of the valid UTF-8 sequence at text (1 to 4); 0: it is not valid. */
size_t json_utf8_length(const char *text, size_t length);

/* Whether text is valid UTF-8 without control characters: fit for names and messages. */
bool json_text_plain(const char *text);

#endif
