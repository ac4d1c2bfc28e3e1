/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/interface.h"
#include "core/time_ns.h"

enum { SPLIT_ADAPTIVE_MIN = 1 << 20 };

static uint64_t http_transfer(const struct http_options *o)
{
	return o->common.transfer ? o->common.transfer : HTTP_TRANSFER;
}

uint64_t http_range(const void *options, uint64_t largest, uint32_t depth)
{
	const struct http_options *o = options;
	uint64_t bytes = http_transfer(o), share;

	if (o->split == SPLIT_OFF || largest < o->split_from)
		return UINT64_MAX;
	if (o->split == SPLIT_SIZE)
		return bytes;
	share = largest ? (largest - 1) / depth : 0;
	if (share >= bytes)
		return bytes;
	share = (share / SPLIT_ADAPTIVE_MIN + 1) * SPLIT_ADAPTIVE_MIN;
	return share < bytes ? share : bytes;
}

uint64_t http_part(const void *options, uint64_t length)
{
	const struct http_options *o = options;
	uint64_t part = o->part ? o->part : http_transfer(o);

	return length && length <= o->put_whole ? length : part;
}

uint32_t http_in_flight(const void *options)
{
	const struct http_options *o = options;

	return (uint32_t)o->in_flight;
}

/* Client profiles: what known libraries do on the wire by default, as the options that make haul do
 * the same. What is not known of a library is not here: haul's own default stays.
 * docs/stores-objects-requests.md has the same table, and what options cannot express. */
const char *const client_names[] = {
	[CLIENT_HAUL] = "haul",
	[CLIENT_S3DLIO] = "s3dlio",
	[CLIENT_S3TORCHCONNECTOR] = "s3torchconnector",
	[CLIENT_MINIO] = "minio",
	NULL,
};

/* 0 stands for haul's default. */
struct profile {
	uint64_t split_from, range;
	uint64_t put_whole, part;
	uint64_t in_flight;
	uint64_t attempts, connect_ns;
	enum http_split split;
	bool s3_only, head;
	bool sha256; /* hashes what is written into its signature */
};

static const struct profile profiles[] = {
	[CLIENT_HAUL] = {0},
	[CLIENT_S3DLIO] =
		{
			.head = true,
			.split_from = 32 << 20,
			.put_whole = (32 << 20) - 1,
			.part = 16 << 20,
			.in_flight = 32,
			.attempts = 3,
			.connect_ns = 20000000000,
		},
	[CLIENT_S3TORCHCONNECTOR] =
		{
			.s3_only = true,
			.range = 8 << 20,
			.part = 8 << 20,
			.in_flight = 25,
		},
	[CLIENT_MINIO] =
		{
			.s3_only = true,
			.split = SPLIT_OFF,
			.part = 32 << 20,
			.in_flight = 3,
			.attempts = 6,
			.sha256 = true,
		},
};

static void profile_set(uint64_t *option, uint64_t value)
{
	if (value)
		*option = value;
}

/* Sets the defaults of the options at into to those of their client. */
static void client_preset(void *into)
{
	struct http_options *o = into;
	const struct profile *p = &profiles[o->client];

	o->head_on_open = p->head;
	o->split = p->split;
	o->payload = p->sha256;
	profile_set(&o->split_from, p->split_from);
	profile_set(&o->common.transfer, p->range);
	profile_set(&o->put_whole, p->put_whole);
	profile_set(&o->part, p->part);
	profile_set(&o->in_flight, p->in_flight);
	profile_set(&o->retry.attempts, p->attempts);
	profile_set(&o->connect_ns, p->connect_ns);
}

/* -EINVAL: the client does not know the scheme. */
static int client_check(const struct http_options *o, const char *path, struct err *err)
{
	if (!profiles[o->client].s3_only || strncmp(o->common.uri.items[0], "s3:", 3) == 0)
		return 0;
	return err_set(err, -EINVAL, "%s/client: %s knows only s3://", path,
		       client_names[o->client]);
}

static const char *const transport_names[] = {
	[TRANSPORT_NATIVE] = "native", [TRANSPORT_CURL] = "curl", NULL};

static const char *const split_names[] = {"size", "adaptive", "off", NULL};

static const char *const checksum_names[] = {
	[SUM_NONE] = "none", [SUM_MD5] = "md5", [SUM_CRC32C] = "crc32c", NULL};

const struct option http_option_table[] = {
	OPT_TEXTS(
		"endpoints", struct http_options, endpoints, .def_text = "",
		.help = "servers: http://host:port, https://s3-{1...8}:9000, file:LIST, ${VARIABLE:-http://…}; empty: from the "
			"environment"),
	OPT_CHOICE(
		"balance", struct http_options, balance.balance, .choices = balance_names,
		.help = "which endpoint a request takes: the rank's or node's own, in turn, at random, "
			"the least loaded, the quickest"),
	OPT_TEXTS(
		"interface", struct http_options, interfaces, .def_text = "",
		.help = "network interface that carries a rank's connections: a name (hsn0) or an address of the node; "
			"of a list, each rank of a node gets one near its cores; empty: the system chooses"),
	OPT_U64("eject_failures", struct http_options, balance.eject_failures, .def = 5,
		.max = 1 << 20,
		.help = "failures in a row after which an endpoint is left alone for a while; 0: never"),
	OPT_TIME(
		"eject_time", struct http_options, balance.eject_ns, .def = 5000000000, .min = 1,
		.max = 86400000000000,
		.help = "how long it is left alone the first time; doubled each time it fails again"),
	OPT_TABLE("retry", struct http_options, retry, .table = retry_option_table,
		  .help = "trying again what fails in passing"),
	OPT_CHOICE("transport", struct http_options, transport, .choices = transport_names,
		   .help = "what carries requests: haul's own HTTP, or libcurl"),
	OPT_BOOL("insecure", struct http_options, insecure, .def = false,
		 .help = "does not verify the servers' certificates; the results say so"),
	OPT_TEXT(
		"ca", struct http_options, ca, .def_text = "",
		.help = "file with the certificates to trust; empty: AWS_CA_BUNDLE, else the system's"),
	OPT_TIME("connect_timeout", struct http_options, connect_ns, .def = 10000000000,
		 .min = 1000000, .max = 3600000000000,
		 .help = "time to make a connection, TLS included"),
	OPT_TIME("first_byte_timeout", struct http_options, first_byte_ns, .def = 60000000000,
		 .min = 1000000, .max = 86400000000000,
		 .help = "the longest time from a request to the first byte of its answer"),
	OPT_TIME("stall_timeout", struct http_options, stall_ns, .def = 30000000000, .min = 1000000,
		 .max = 86400000000000, .help = "the longest time in which no byte moves"),
	OPT_BYTES("least_rate", struct http_options, least_rate, .def = 1 << 10, .max = 1ull << 40,
		  .help = "bytes per second, on average over stall_timeout, below which a transfer "
			  "counts as stalled; 0: any rate will do"),
	OPT_CHOICE("client", struct http_options, client, .choices = client_names,
		   .preset = client_preset,
		   .help = "the library to imitate: its defaults become those of the options here"),
	OPT_BOOL("head_on_open", struct http_options, head_on_open, .def = false,
		 .help = "asks for an object's size when it is opened, as some libraries do"),
	OPT_CHOICE(
		"split", struct http_options, split, .choices = split_names,
		.help = "how a read of data is cut: size: into requests of transfer bytes; adaptive: evenly "
			"over the requests in flight, from 1 MiB to transfer each; off: not at all"),
	OPT_BYTES("split_from", struct http_options, split_from, .def = 0, .max = 1ull << 40,
		  .help = "only extents that may be at least so long are cut; 0: all"),
	OPT_BYTES("part", struct http_options, part, .def = 0, .max = 4000ull << 20,
		  .help = "size of the parts that an object is written in; 0: transfer"),
	OPT_BYTES("put_whole", struct http_options, put_whole, .def = 0, .max = 5ull << 30,
		  .help = "objects up to this size are written by one request; 0: up to a part"),
	OPT_U64("in_flight", struct http_options, in_flight, .def = 1, .min = 1,
		.max = HTTP_IN_FLIGHT_MAX,
		.help = "the greatest number of requests in flight for one sample that is read, or of parts for one "
			"object that is written; the loader's depth takes precedence"),
	OPT_CHOICE(
		"checksum", struct http_options, checksum, .choices = checksum_names,
		.help = "checksum that is sent with what is written, and compared with what is read where the "
			"store tells one"),
	OPT_END,
};

static int http_check_sum(const struct http_options *o, const char *path, struct err *err)
{
	if (o->checksum != SUM_CRC32C || strncmp(o->common.uri.items[0], "az:", 3) != 0)
		return 0;
	return err_set(err, -EINVAL, "%s/checksum: Azure does not know CRC-32C; set \"md5\"", path);
}

int http_check(const void *options, const char *path, struct err *err)
{
	const struct http_options *o = options;
	char where[256];
	struct servers s;
	int rc = client_check(o, path, err);

	if (rc == 0)
		rc = http_check_sum(o, path, err);
	if (rc < 0)
		return rc;
	snprintf(where, sizeof(where), "%s/interface", path);
	rc = interfaces_check(&o->interfaces, where, err);
	if (rc < 0)
		return rc;
	snprintf(where, sizeof(where), "%s/endpoints", path);
	for (uint32_t i = 0; i < o->endpoints.count; i++) {
		const char *text = o->endpoints.items[i];

		/* A plan may be wanted where the variables of the run are not set. */
		if (!text[0] || strncmp(text, "file:", 5) == 0 || strncmp(text, "${", 2) == 0)
			continue;
		rc = servers_parse(&s, &text, 1, where, err);
		if (rc < 0)
			return rc;
		servers_free(&s);
	}
	return 0;
}

/* Whether the text begins with `count` names and slashes between them. What holds a brace is not
 * known yet. */
static bool http_root_named(const char *root, int count)
{
	size_t n = strcspn(root, "/");

	if (memchr(root, '{', n))
		return true;
	if (n == 0)
		return false;
	return count == 1 || (root[n] == '/' && http_root_named(root + n + 1, count - 1));
}

int http_check_root(const void *options, const char *names, int count, const char *path,
		    struct err *err)
{
	const struct http_options *o = options;
	const struct texts *uri = &o->common.uri;

	if (o->create_bucket && uri->count > 1)
		return err_set(err, -EINVAL, "%s/create_bucket: needs a single URI", path);
	for (uint32_t i = 0; i < uri->count; i++) {
		const char *rest = strstr(uri->items[i], "://");

		if (rest && !http_root_named(rest + 3, count))
			return err_set(err, -EINVAL,
				       "%s/uri: \"%s\" names no %s; write %.*s://%s/prefix", path,
				       uri->items[i], names, (int)(rest - uri->items[i]),
				       uri->items[i], names);
	}
	return 0;
}

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
