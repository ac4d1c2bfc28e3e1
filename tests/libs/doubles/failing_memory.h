/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of which one allocation fails. A program with failing_memory.c is linked with
 * LINKER:--wrap=malloc,--wrap=calloc, so that the allocations of haul's own code, not those of
 * libraries, come here first. For one thread. */
#ifndef HAUL_TESTS_FAILING_MEMORY_H
#define HAUL_TESTS_FAILING_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* From now on, the allocation with that number fails, from 0 on. */
void failing_memory_begin(uint32_t number);

/* No allocation fails any more. Returns whether one has. */
bool failing_memory_end(void);

#endif
