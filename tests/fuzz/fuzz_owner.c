/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what an object that stands for a lock says of its owner, with any bytes: the sentence is a
 * line of plain characters, whatever stands there, and never empty. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/owner.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char who[OWNER_TEXT_BYTES];

	owner_text_who(who, (const char *)data, size);
	if (!who[0])
		abort();
	for (const char *c = who; *c; c++)
		if (*c < ' ' || *c > '~')
			abort();
	owner_text_ended((const char *)data, size);
	return 0;
}
