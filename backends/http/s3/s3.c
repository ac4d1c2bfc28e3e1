/* SPDX-License-Identifier: Apache-2.0 */
/* s3://bucket/prefix: Amazon S3 and the servers that speak like it. Options, servers,
 * credentials. */
#include "backends/http/s3/s3.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/bucket.h"
#include "backends/stores.h"

enum { PATH_BYTES = 256 };

struct s3_options {
	struct http_options http; /* must come first */
	uint32_t addressing;
	char region[64];
	char profile[64];
	bool anonymous;
	uint32_t sign;
};

const char *const addressing_names[] = {"auto", "path", "virtual", NULL};
static const char *const sign_names[] = {"header", "query", NULL};
static const char *const payload_names[] = {"unsigned", "sha256", NULL};

static const struct option s3_option_table[] = {
	OPT_CHOICE(
		"addressing", struct s3_options, addressing, .choices = addressing_names,
		.help = "where the bucket is: in the path, or in the host's name (virtual); auto: as the "
			"server is known to want it"),
	OPT_TEXT("region", struct s3_options, region, .def_text = "",
		 .help = "region that requests are signed for; empty: AWS_REGION, else us-east-1"),
	OPT_TEXT(
		"profile", struct s3_options, profile, .def_text = "",
		.help = "profile of ~/.aws/credentials; empty: the environment first, then AWS_PROFILE or "
			"default"),
	OPT_BOOL("anonymous", struct s3_options, anonymous, .def = false,
		 .help = "sends no signature, for public buckets"),
	OPT_CHOICE("sign", struct s3_options, sign, .choices = sign_names,
		   .help = "where the signature is: in a header, or in the URL (presigned)"),
	OPT_CHOICE("payload", struct s3_options, http.payload, .choices = payload_names,
		   .help = "whether what is written is hashed into the signature"),
	OPT_BOOL(
		"create_bucket", struct s3_options, http.create_bucket, .def = false,
		.help = "makes the bucket before it is first written to, where there is none; haul clean "
			"removes it then, if nothing else is in it"),
	OPT_END,
};

static int s3_find_servers(struct http_store *http, struct err *err)
{
	/* In the order of s3dlio and MLPerf Storage, then Amazon's own variables. */
	static const char *const lists[] = {"S3_ENDPOINT_URIS", "S3_ENDPOINT_TEMPLATE", NULL};
	static const char *const urls[] = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", NULL};
	const struct texts *given = &http->options->endpoints;
	const char *text = environment_first(lists), *file = getenv("S3_ENDPOINT_FILE");
	char line[1024];
	struct text t = text_in(line, sizeof(line));

	if (given->count && given->items[0][0])
		return servers_parse(&http->servers, (const char *const *)given->items,
				     given->count, "endpoints", err);
	if (!text && file && file[0])
		text_add(&t, "file:");
	else if (!text)
		text = environment_first(urls);
	if (line[0])
		text_add(&t, file);
	else if (text)
		text_add(&t, text);
	else
		text_add(&t, "https://s3.");
	if (!text && strncmp(line, "file:", 5) != 0) {
		text_add(&t, http->region);
		text_add(&t, ".amazonaws.com");
	}
	text = line;
	if (t.full)
		return err_set(err, -EINVAL, "the endpoints of the environment are too long");
	return servers_parse(&http->servers, &text, 1, "the endpoints of the environment", err);
}

/* Lower case, digits and hyphens, but no dots, so that a wildcard certificate covers it. */
static bool s3_host_label(const char *bucket)
{
	return strlen(bucket) < 64 &&
	       bucket[strspn(bucket, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

/* An IPv4 or IPv6 address, with or without a port. */
static bool s3_host_is_address(const char *host)
{
	char name[SERVER_HOST_BYTES];
	struct in_addr a;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(host, ":"), host);
	return host[0] == '[' || inet_pton(AF_INET, name, &a) == 1;
}

static int s3_check_hosts(const struct servers *s, const char *path, struct err *err)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s3_host_is_address(s->list[i].host))
			return err_set(
				err, -EINVAL,
				"%saddressing: with \"virtual\" the bucket's name stands before that of the "
				"endpoint, and %s is an address; give the endpoint's name, or set \"path\"",
				path, s->list[i].host);
	return 0;
}

int s3_check_addressing(const struct http_options *o, enum addressing wanted, const char *path,
			struct err *err)
{
	const struct texts *given = &o->endpoints;
	char where[PATH_BYTES];
	struct servers s = {0};
	int rc;

	/* What a file or the environment has is looked at when the store is opened. */
	if (wanted != ADDRESSING_VIRTUAL || !given->count || !given->items[0][0] ||
	    strncmp(given->items[0], "file:", 5) == 0)
		return 0;
	snprintf(where, sizeof(where), "%s/endpoints", path);
	rc = servers_parse(&s, (const char *const *)given->items, given->count, where, err);
	snprintf(where, sizeof(where), "%s/", path);
	if (rc == 0)
		rc = s3_check_hosts(&s, where, err);
	servers_free(&s);
	return rc;
}

int s3_address(struct http_store *http, enum addressing wanted, struct err *err)
{
	bool public = true;

	for (uint32_t i = 0; i < http->servers.count; i++) {
		const char *host = http->servers.list[i].host;

		public = public &&
			 (strstr(host, ".amazonaws.com") || strstr(host, ".googleapis.com"));
	}
	http->virtual_host = wanted == ADDRESSING_VIRTUAL ||
			     (wanted == ADDRESSING_AUTO && public && s3_host_label(http->bucket));
	return wanted == ADDRESSING_VIRTUAL ? s3_check_hosts(&http->servers, "", err) : 0;
}

static int s3_open(struct store *store, struct http_store *http, struct err *err)
{
	static const char *const regions[] = {"AWS_REGION", "AWS_DEFAULT_REGION", NULL};
	const struct s3_options *o = store->options;
	const char *region = o->region[0] ? o->region : environment_first(regions);
	struct text t = text_in(http->region, sizeof(http->region));
	int rc = http_split_root(store, "bucket", http, err);

	if (rc < 0)
		return rc;
	if (o->sign && o->http.checksum == SUM_CRC32C)
		return err_set(
			err, -EINVAL,
			"checksum: the signature in a URL does not cover x-amz-checksum-crc32c, "
			"without which S3 does not take that header; set \"sign\": \"header\", or "
			"\"checksum\": \"md5\"");
	text_add(&t, region ? region : "us-east-1");
	if (t.full)
		return err_set(err, -EINVAL, "the region's name is too long");
	http->presigned = o->sign;
	http->sign_payload = o->http.payload;
	rc = s3_find_servers(http, err);
	if (rc < 0)
		return rc;
	rc = s3_address(http, (enum addressing)o->addressing, err);
	return rc < 0         ? rc
	       : o->anonymous ? 0
			      : credentials_aws(&http->credentials, o->profile, err);
}

static const struct dialect s3_dialect = {
	.name = "S3",
	.begins = true,
	.parts = true,
	.crc32c_header = "x-amz-checksum-crc32c",
	.crc32c_before = "",
	.sums_parts = true,
	.open = s3_open,
	.make = s3_make,
	.read = s3_read,
	.element = s3_element,
	.deleted = s3_deleted,
};

static int s3_check(const void *options, const char *path, struct err *err)
{
	const struct s3_options *o = options;
	int rc = http_check(options, path, err);

	if (rc == 0)
		rc = s3_check_addressing(&o->http, (enum addressing)o->addressing, path, err);
	return rc < 0 ? rc : http_check_root(options, "bucket", 1, path, err);
}

static int s3_store_open(struct store *store, struct err *err)
{
	return http_open(store, &s3_dialect, err);
}

const struct backend_ops s3_backend = {
	.scheme = "s3",
	.help = "objects of Amazon S3 and of servers that speak like it",
	.section =
		{
			.name = "s3",
			.help = "objects of Amazon S3 and of servers that speak like it",
			.tables = {store_common_options, http_option_table, s3_option_table},
			.size = sizeof(struct s3_options),
			.owner = &s3_backend,
		},
	.capabilities = HTTP_CAPABILITIES | BACKEND_BATCH | BACKEND_LIST_PARTS | BACKEND_UPLOADS,
	.part_min = 5 << 20,
	.parts_max = 10000,
	.check = s3_check,
	.open = s3_store_open,
	.root_make = bucket_make,
	.root_drop = bucket_drop,
	HTTP_OPERATIONS,
};
