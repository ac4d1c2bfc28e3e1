/* Checksums that travel in headers: MD5 as Content-MD5 has it, CRC-32C as S3 and Google do, both in base64.
 * A sum belongs to one thread. Nothing allocates after sum_open. */
#ifndef HAUL_BACKENDS_HTTP_WIRE_SUM_H
#define HAUL_BACKENDS_HTTP_WIRE_SUM_H

#include <stdint.h>

enum sum_kind { SUM_NONE, SUM_MD5, SUM_CRC32C };
enum { SUM_TEXT_BYTES = 32 }; /* of 16 bytes in base64, and its end */

struct sum {
	void *md5; /* OpenSSL's */
	enum sum_kind kind;
	uint32_t crc;
};

/* Makes room for any kind. -ENOMEM. sum_close also after an error, and on zeroes. */
int sum_open(struct sum *s);
void sum_close(struct sum *s);

/* -ENOTSUP: this OpenSSL has no MD5 (FIPS). */
int sum_begin(struct sum *s, enum sum_kind kind);
void sum_add(struct sum *s, const void *data, uint64_t n);
/* Of SUM_NONE "". */
void sum_end(struct sum *s, char out[SUM_TEXT_BYTES]);

#endif
