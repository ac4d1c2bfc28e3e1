/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/wire/sum.h"

#include <errno.h>
#include <openssl/evp.h>

#include "backends/http/wire/text.h"
#include "core/content/crc32c.h"

enum { SUM_MD5_BYTES = 16, SUM_CRC_BYTES = 4 };

int sum_open(struct sum *s)
{
	*s = (struct sum){.md5 = EVP_MD_CTX_new()};
	return s->md5 ? 0 : -ENOMEM;
}

void sum_close(struct sum *s)
{
	EVP_MD_CTX_free(s->md5);
	*s = (struct sum){0};
}

int sum_begin(struct sum *s, enum sum_kind kind)
{
	s->kind = kind;
	s->crc = CRC32C_BEGIN;
	return kind == SUM_MD5 && EVP_DigestInit_ex(s->md5, EVP_md5(), NULL) != 1 ? -ENOTSUP : 0;
}

void sum_add(struct sum *s, const void *data, uint64_t n)
{
	if (s->kind == SUM_MD5)
		EVP_DigestUpdate(s->md5, data, n);
	else if (s->kind == SUM_CRC32C)
		s->crc = crc32c_add(s->crc, data, n);
}

void sum_end(struct sum *s, char out[SUM_TEXT_BYTES])
{
	struct text t = text_in(out, SUM_TEXT_BYTES);
	uint8_t bytes[SUM_MD5_BYTES];
	uint32_t crc = crc32c_end(s->crc);

	if (s->kind == SUM_MD5 && EVP_DigestFinal_ex(s->md5, bytes, NULL) == 1)
		text_add_base64(&t, bytes, SUM_MD5_BYTES);
	if (s->kind != SUM_CRC32C)
		return;
	/* The highest byte comes first. */
	for (int i = 0; i < SUM_CRC_BYTES; i++)
		bytes[i] = (uint8_t)(crc >> (8 * (SUM_CRC_BYTES - 1 - i)));
	text_add_base64(&t, bytes, SUM_CRC_BYTES);
}
