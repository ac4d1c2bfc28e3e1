/* SPDX-License-Identifier: Apache-2.0 */
/* Table of backends: what a build lacks is left out here and nowhere else. */
#include <string.h>

#include "backends/stores.h"
#include "core/uri.h"

#ifdef HAVE_HTTP
#define HTTP_BACKEND_LIST(X) X(s3) X(azure) X(gcs)
#else
#define HTTP_BACKEND_LIST(X)
#endif
#define BACKEND_LIST(X) X(file) X(direct) X(mem) HTTP_BACKEND_LIST(X) X(dfs) X(sim) X(null)

#define BACKEND_OPS(name)     &name##_backend,
#define BACKEND_SECTION(name) &name##_backend.section,
static const struct backend_ops *const backends[] = {BACKEND_LIST(BACKEND_OPS) NULL};
const struct section *const backend_sections[] = {BACKEND_LIST(BACKEND_SECTION) NULL};

#ifdef HAVE_URING
#define URING_BUILT true
#else
#define URING_BUILT false
#endif

#ifdef HAVE_HTTP
#define HTTP_BUILT true
#else
#define HTTP_BUILT false
#endif

#ifdef HAVE_ZSTD
#define ZSTD_BUILT true
#else
#define ZSTD_BUILT false
#endif

static const struct backend_part parts[] = {
	{"engine uring of file://", "liburing 2.3", URING_BUILT},
	{"object stores", "libcurl 7.85, OpenSSL 3.0 and expat", HTTP_BUILT},
	{"operation log", "libzstd 1.4", ZSTD_BUILT},
	{NULL, NULL, false},
};

const struct backend_part *backend_parts(void)
{
	return parts;
}

const struct backend_ops *const *backend_table(void)
{
	return backends;
}

const struct backend_ops *backend_find(const char *scheme)
{
	for (const struct backend_ops *const *b = backends; *b; b++) {
		if (strcmp((*b)->scheme, scheme) == 0)
			return *b;
	}
	return NULL;
}

const char *backend_look_at(const char *uri)
{
	char scheme[URI_SCHEME_BYTES];
	const struct backend_ops *ops = NULL;
	struct err err;

	if (uri_scheme(uri, scheme, &err) == 0)
		ops = backend_find(scheme);
	return ops && ops->look_at ? ops->look_at : "";
}
