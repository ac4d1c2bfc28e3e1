/* SPDX-License-Identifier: Apache-2.0 */
/* Backends of this build, for table.c; all other code asks backend_find. */
#ifndef HAUL_BACKENDS_STORES_H
#define HAUL_BACKENDS_STORES_H

#include "backends/backend.h"

extern const struct backend_ops file_backend;
extern const struct backend_ops direct_backend; /* file_backend under a shorter name */
extern const struct backend_ops mem_backend;
extern const struct backend_ops sim_backend;
extern const struct backend_ops null_backend;
extern const struct backend_ops dfs_backend;
/* Defined where HAVE_HTTP is. */
extern const struct backend_ops s3_backend;
extern const struct backend_ops azure_backend;
extern const struct backend_ops gcs_backend;

#endif
