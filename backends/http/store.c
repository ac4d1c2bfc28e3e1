/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/time_ns.h"

int http_split_root(const struct store *store, const char *what, struct http_store *http,
		    struct err *err)
{
	const char *root = store->root, *slash = strchr(root, '/');
	size_t n = slash ? (size_t)(slash - root) : strlen(root), end;

	if (n == 0 || n >= sizeof(http->bucket))
		return err_set(err, -EINVAL, "%s: names no %s; write %s://%s/prefix", store->uri,
			       what, store->ops->scheme, what);
	memcpy(http->bucket, root, n);
	http->bucket[n] = '\0';
	root = slash ? slash + 1 : "";
	end = strlen(root);
	while (end && root[end - 1] == '/')
		end--;
	memcpy(http->prefix, root, end);
	memcpy(http->prefix + end, end ? "/" : "", end ? 2 : 1);
	return 0;
}

const char *environment_first(const char *const *names)
{
	for (; *names; names++) {
		const char *value = getenv(*names);

		if (value && value[0])
			return value;
	}
	return NULL;
}

int64_t http_now(const struct http_store *http)
{
	return (int64_t)(clock_utc_ns() / NS_PER_S) +
	       atomic_load_explicit(&http->skew, memory_order_relaxed);
}
