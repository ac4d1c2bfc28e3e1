/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums that travel in headers: MD5 as in Content-MD5, CRC-32C as S3 and Google have it, both
 * in base64. A sum belongs to one thread. Nothing allocates after sum_open. */
#ifndef HAUL_BACKENDS_HTTP_WIRE_SUM_H
#define HAUL_BACKENDS_HTTP_WIRE_SUM_H

#include <stdint.h>

enum sum_kind { SUM_NONE, SUM_MD5, SUM_CRC32C };
enum { SUM_TEXT_BYTES = 32 }; /* 16 bytes in base64, terminated */

struct sum {
	void *md5; /* OpenSSL's context */
	enum sum_kind kind;
	uint32_t crc;
};

/* Makes room for any kind; -ENOMEM. sum_close may also follow an error, or close a sum of
 * zeroes. */
int sum_open(struct sum *s);
void sum_close(struct sum *s);

/* -ENOTSUP: this OpenSSL has no MD5 (FIPS mode). */
int sum_begin(struct sum *s, enum sum_kind kind);
void sum_add(struct sum *s, const void *data, uint64_t n);
/* The sum of SUM_NONE is "". */
void sum_end(struct sum *s, char out[SUM_TEXT_BYTES]);

#endif
