/* SPDX-License-Identifier: Apache-2.0 */
/* az://account/container/prefix: Azure's block blobs. Options, servers, credentials. */
#include "backends/http/azure/azure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/stores.h"

struct azure_options {
	struct http_options http; /* must come first */
	bool anonymous;
};

static const struct option azure_option_table[] = {
	OPT_BOOL("anonymous", struct azure_options, anonymous, .def = false,
		 .help = "sends no credentials, for public containers"),
	OPT_END,
};

/* "account/container/prefix" */
static int azure_split_root(struct store *store, struct http_store *http, struct err *err)
{
	char *slash = strchr(store->root, '/');
	size_t n = slash ? (size_t)(slash - store->root) : 0;

	if (!slash || n == 0 || n >= sizeof(http->account))
		return err_set(
			err, -EINVAL,
			"names no account and container; write az://account/container/prefix");
	memcpy(http->account, store->root, n);
	http->account[n] = '\0';
	memmove(store->root, slash + 1, strlen(slash + 1) + 1);
	return http_split_root(store, "account/container", http, err);
}

static int azure_open(struct store *store, struct http_store *http, struct err *err)
{
	const struct azure_options *o = store->options;
	char endpoint[URI_BYTES] = "", where[512];
	const char *text = endpoint;
	int rc = azure_split_root(store, http, err);

	if (rc == 0 && !o->anonymous)
		rc = credentials_azure(&http->credentials, http->account, endpoint,
				       sizeof(endpoint), err);
	if (rc < 0)
		return rc;
	snprintf(where, sizeof(where), "https://%s.blob.core.windows.net", http->account);
	if (o->http.endpoints.count && o->http.endpoints.items[0][0])
		return servers_parse(&http->servers, (const char *const *)o->http.endpoints.items,
				     o->http.endpoints.count, "endpoints", err);
	text = endpoint[0] ? endpoint : where;
	return servers_parse(&http->servers, &text, 1, "the account's endpoint", err);
}

static const struct dialect azure_dialect = {
	.name = "Azure Blob",
	.open = azure_open,
	.make = azure_make,
	.read = azure_read,
	.element = azure_element,
	.explain = azure_explain,
};

static int azure_check(const void *options, const char *path, struct err *err)
{
	int rc = http_check(options, path, err);

	return rc < 0 ? rc : http_check_root(options, "account/container", 2, path, err);
}

static int azure_store_open(struct store *store, struct err *err)
{
	return http_open(store, &azure_dialect, err);
}

const struct backend_ops azure_backend = {
	.scheme = "az",
	.help = "Azure's block blobs",
	.section =
		{
			.name = "az",
			.help = "Azure's block blobs",
			.tables = {store_common_options, http_option_table, azure_option_table},
			.size = sizeof(struct azure_options),
			.owner = &azure_backend,
		},
	.capabilities = HTTP_CAPABILITIES,
	.parts_max = 50000,
	.check = azure_check,
	.open = azure_store_open,
	HTTP_OPERATIONS,
};
