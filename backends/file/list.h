/* SPDX-License-Identifier: Apache-2.0 */
/* Listing a folder of file:// by pages. */
#ifndef HAUL_BACKENDS_FILE_LIST_H
#define HAUL_BACKENDS_FILE_LIST_H

#include "backends/backend.h"

/* One page of the folder at path. The marker is the kernel's own position in the folder, good for
 * any descriptor of it, so nothing is held between pages. Sizes are not told; what is unfinished
 * (core/part.h) is. 0 or a negative errno. */
int file_list(const char *path, struct request *req);

#endif
