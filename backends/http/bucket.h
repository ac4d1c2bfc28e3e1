/* SPDX-License-Identifier: Apache-2.0 */
/* The bucket of an object store, where haul makes it: for struct backend_ops, see root_make.
 *
 * A bucket that haul has made holds an object ".haul-bucket". It is removed only where it has that
 * mark, and no other object and no open upload. Where something comes between, the store refuses to
 * remove a bucket that holds an object, and the mark is put back. */
#ifndef HAUL_BACKENDS_HTTP_BUCKET_H
#define HAUL_BACKENDS_HTTP_BUCKET_H

#include "backends/backend.h"

int bucket_make(const struct store *store, struct err *err);
int bucket_drop(const struct store *store, struct err *err);

#endif
