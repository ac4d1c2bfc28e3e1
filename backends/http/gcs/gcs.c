/* SPDX-License-Identifier: Apache-2.0 */
/* gs://bucket/prefix: Google's cloud storage by its XML interface, which is S3's but for the
 * credentials. */
#include <errno.h>
#include <string.h>

#include "backends/http/bucket.h"
#include "backends/http/s3/s3.h"
#include "backends/stores.h"

struct gcs_options {
	struct http_options http; /* must come first */
	uint32_t addressing;
	bool anonymous;
};

static const struct option gcs_option_table[] = {
	OPT_CHOICE(
		"addressing", struct gcs_options, addressing, .choices = addressing_names,
		.help = "where the bucket is: in the path, or in the host's name (virtual); auto: as the "
			"server is known to want it"),
	OPT_BOOL("anonymous", struct gcs_options, anonymous, .def = false,
		 .help = "sends no credentials, for public buckets"),
	OPT_BOOL(
		"create_bucket", struct gcs_options, http.create_bucket, .def = false,
		.help = "makes the bucket before it is first written to, where there is none; haul clean "
			"removes it then, if nothing else is in it"),
	OPT_END,
};

static int gcs_open(struct store *store, struct http_store *http, struct err *err)
{
	static const char *const standard[] = {"https://storage.googleapis.com"};
	const struct gcs_options *o = store->options;
	bool given = o->http.endpoints.count && o->http.endpoints.items[0][0];
	int rc = http_split_root(store, "bucket", http, err);

	if (rc < 0)
		return rc;
	strcpy(http->region, "auto");
	rc = servers_parse(&http->servers,
			   given ? (const char *const *)o->http.endpoints.items : standard,
			   given ? o->http.endpoints.count : 1, "endpoints", err);
	if (rc < 0)
		return rc;
	rc = s3_address(http, (enum addressing)o->addressing, err);
	if (rc < 0)
		return rc;
	rc = o->anonymous ? 0 : credentials_google(&http->credentials, err);
	if (rc == 0 && o->http.checksum == SUM_CRC32C && http->credentials.kind == CREDENTIAL_V4)
		rc = err_set(
			err, -EINVAL,
			"checksum: with HMAC keys requests have x-amz- headers, beside which Google "
			"does not take x-goog-hash; set \"md5\"");
	return rc;
}

static const struct dialect gcs_dialect = {
	.name = "Google Cloud Storage",
	.begins = true,
	.parts = true,
	.crc32c_header = "x-goog-hash",
	.crc32c_before = "crc32c=",
	.generation_header = "x-goog-if-generation-match",
	.open = gcs_open,
	.make = s3_make,
	.read = s3_read,
	.element = s3_element,
};

static int gcs_check(const void *options, const char *path, struct err *err)
{
	const struct gcs_options *o = options;
	int rc = http_check(options, path, err);

	if (rc == 0)
		rc = s3_check_addressing(&o->http, (enum addressing)o->addressing, path, err);
	return rc < 0 ? rc : http_check_root(options, "bucket", 1, path, err);
}

static int gcs_store_open(struct store *store, struct err *err)
{
	return http_open(store, &gcs_dialect, err);
}

const struct backend_ops gcs_backend = {
	.scheme = "gs",
	.help = "Google's cloud storage, by its XML interface",
	.section =
		{
			.name = "gs",
			.help = "Google's cloud storage, by its XML interface",
			.tables = {store_common_options, http_option_table, gcs_option_table},
			.size = sizeof(struct gcs_options),
			.owner = &gcs_backend,
		},
	.capabilities = HTTP_CAPABILITIES | BACKEND_LIST_PARTS | BACKEND_UPLOADS,
	.part_min = 5 << 20,
	.parts_max = 10000,
	.check = gcs_check,
	.open = gcs_store_open,
	.root_make = bucket_make,
	.root_drop = bucket_drop,
	HTTP_OPERATIONS,
};
