/* SPDX-License-Identifier: Apache-2.0 */
/* URI of a store: scheme://rest, with {rank}, {node}, {local_rank} and ${VARIABLE} in the rest. */
#ifndef HAUL_CORE_URI_H
#define HAUL_CORE_URI_H

#include <stdbool.h>

#include "core/err.h"
#include "core/rank_place.h"

enum { URI_BYTES = 1024, URI_SCHEME_BYTES = 16 };

/* Checks the form, refuses user information and, but for files, a query or a fragment, and copies the scheme. Returns -EINVAL with a
 * sentence: '"s3:/bucket" is not a URI; write it as s3://bucket'. */
int uri_scheme(const char *uri, char scheme[URI_SCHEME_BYTES], struct err *err);

/* Bytes of "path=value" that a message may show, at most 100: the value only where it has no "@", "?" or
 * "#", beside which a secret may stand. */
int uri_change_shown(const char *change);

/* Expands placeholders for a place, and variables from the environment, into out. With place NULL
 * it only checks that the placeholders are known. Returns -EINVAL with a sentence that names what
 * is unknown or unset. */
int uri_expand(const char *uri, const struct rank_place *place, char out[URI_BYTES],
	       struct err *err);

/* Whether each rank of a node has a URI of its own: {rank} or {local_rank} is in it. Any thread. */
bool uri_per_rank(const char *uri);

#endif
