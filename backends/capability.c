/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities of stores: see capability.h. */
#include "backends/capability.h"

#include <stddef.h>

_Static_assert(BACKEND_CAPABILITY_COUNT < 31, "each capability is a bit of an int");

const struct backend_capability_words backend_capability_words[BACKEND_CAPABILITY_COUNT] = {
#define CAPABILITY_WORDS(id, name, means, lacks) {#name, means, lacks},
	BACKEND_CAPABILITIES(CAPABILITY_WORDS)
#undef CAPABILITY_WORDS
};

const struct backend_capability_words *backend_capability_lowest(uint32_t bits)
{
	for (unsigned i = 0; i < BACKEND_CAPABILITY_COUNT; i++)
		if (bits >> i & 1)
			return &backend_capability_words[i];
	return NULL;
}
