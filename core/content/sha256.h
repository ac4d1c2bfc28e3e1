/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 of a text in memory, for names that others compute, too. No state; any thread. */
#ifndef HAUL_CORE_CONTENT_SHA256_H
#define HAUL_CORE_CONTENT_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_DIGEST_BYTES = 32 };

void sha256(uint8_t out[SHA256_DIGEST_BYTES], const void *text, size_t bytes);

#endif
