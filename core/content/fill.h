/* SPDX-License-Identifier: Apache-2.0 */
/* Payload: bytes as a function of (seed, object, offset), so that any byte range of any object can
 * be made and verified on its own. The bytes are unique, incompressible, and the same from every
 * code path (AVX-512, AVX2, portable: chosen at run time).
 *
 * The 8-byte word w of an object is mix64(key + (w + 1) * golden), little-endian, with key =
 * fill_key(seed, object). Stateless; any thread. */
#ifndef HAUL_CORE_CONTENT_FILL_H
#define HAUL_CORE_CONTENT_FILL_H

#include <stddef.h>
#include <stdint.h>

enum fill_path { FILL_PORTABLE, FILL_AVX2, FILL_AVX512, FILL_PATHS };

uint64_t fill_key(uint64_t seed, uint64_t object);

/* Makes bytes [offset, offset + length) of the stream of that key. Any alignment is allowed;
 * aligned data and offset are fastest. */
void fill(uint64_t key, uint64_t offset, void *data, size_t length);

/* Makes the bytes again and compares. Returns length when all agree, else the position (0-based,
 * within data) of the first byte that differs. */
size_t fill_verify(uint64_t key, uint64_t offset, const void *data, size_t length);

/* The path in use, its name, and a path that a test asks for (-ENOTSUP where the processor lacks
 * it). */
enum fill_path fill_best(void);
const char *fill_path_name(enum fill_path path);
int fill_by(enum fill_path path, uint64_t key, uint64_t offset, void *data, size_t length);

#endif
