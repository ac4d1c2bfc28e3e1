/* SPDX-License-Identifier: Apache-2.0 */
/* Row of the operation log: a record as text. Private to the operation log. */
#ifndef HAUL_BACKENDS_OP_LOG_ROW_H
#define HAUL_BACKENDS_OP_LOG_ROW_H

#include "backends/backend.h"

/* The record that a queue writes. The ring holds no more of a request than this. */
struct op_record {
	uint64_t submit_ns, first_byte_ns, done_ns;
	uint64_t offset, bytes, entries; /* entries: of a page; keys of a delete; else 1 */
	const char *error;               /* static; NULL: none */
	uint32_t attempts, endpoint;
	uint16_t protocol_status, key_bytes;
	uint8_t op;
	char key[];
};

/* Facts that all rows of a queue share. */
struct op_row_context {
	uint32_t rank, thread, run;
	int64_t utc_ns;
	const char *phase;
	const char *root;   /* the text before the key: "bucket/prefix" */
	const char *scheme; /* used where there are no endpoints */
	const struct endpoints *endpoints;
};

/* A second as text, cached because most rows share theirs. */
struct op_row_second {
	uint64_t second;
	char text[24]; /* "2026-01-31T23:59:59." */
};

enum { OP_ROW_BYTES = 4096 };
extern const char op_row_header[];

/* Writes row number idx with its newline to out. Returns its length, which is always below
 * OP_ROW_BYTES. */
size_t op_row_write(char out[OP_ROW_BYTES], uint64_t idx, const struct op_record *r,
		    const struct op_row_context *c, struct op_row_second *second);

#endif
