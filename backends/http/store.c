/* Opening and describing a store behind HTTP: its options, its servers, its transport's limits. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/http.h"
#include "backends/store.h"

enum { ADAPTIVE_MIN = 1 << 20 };
static const char *const split_names[] = {"size", "adaptive", "off", NULL};

const struct option http_option_table[] = {
	OPT_TEXTS(
		"endpoints", struct http_options, endpoints, .def_text = "",
		.help = "servers: http://host:port, https://s3-{1...8}:9000, file:LIST; empty: from the "
			"environment"),
	OPT_CHOICE(
		"balance", struct http_options, balance.balance, .choices = balance_names,
		.help = "which endpoint a request takes: the rank's or node's own, in turn, at random, "
			"the least loaded, the quickest"),
	OPT_U64("eject_failures", struct http_options, balance.eject_failures, .def = 5,
		.max = 1 << 20,
		.help = "failures in a row after which an endpoint is left alone for a while; 0: never"),
	OPT_TIME("eject_time", struct http_options, balance.eject_ns, .def = 5000000000, .min = 1,
		 .max = 86400000000000,
		 .help = "for how long, at first; doubled each time that it fails again"),
	OPT_TABLE("retry", struct http_options, retry, .table = retry_option_table,
		  .help = "trying again what fails in passing"),
	OPT_BOOL("insecure", struct http_options, insecure, .def = false,
		 .help = "does not verify the servers' certificates; stands in the results"),
	OPT_TEXT(
		"ca", struct http_options, ca, .def_text = "",
		.help = "file with the certificates to trust; empty: AWS_CA_BUNDLE, else the system's"),
	OPT_TIME("connect_timeout", struct http_options, connect_ns, .def = 10000000000,
		 .min = 1000000, .max = 3600000000000, .help = "to a connection, TLS included"),
	OPT_TIME("first_byte_timeout", struct http_options, first_byte_ns, .def = 60000000000,
		 .min = 1000000, .max = 86400000000000, .help = "from the request to its answer"),
	OPT_TIME("stall_timeout", struct http_options, stall_ns, .def = 30000000000, .min = 1000000,
		 .max = 86400000000000, .help = "without a byte moving"),
	OPT_CHOICE("client", struct http_options, client, .choices = client_names,
		   .preset = client_preset,
		   .help = "which library is stood in for: what it does by default is the default "
			   "of the options here"),
	OPT_BOOL("head_on_open", struct http_options, head_on_open, .def = false,
		 .help = "asks for an object's size when it is opened, as some libraries do"),
	OPT_CHOICE("split", struct http_options, split, .choices = split_names,
		   .help = "a read of data is cut by transfer; or over the requests in flight, "
			   "1 MiB to transfer each; or not at all"),
	OPT_BYTES("split_from", struct http_options, split_from, .def = 0, .max = 1ull << 40,
		  .help = "reads are cut where they may be so long; 0: all"),
	OPT_BYTES("part", struct http_options, part, .def = 0, .max = 4000ull << 20,
		  .help = "of an object made in parts; 0: transfer"),
	OPT_BYTES("put_whole", struct http_options, put_whole, .def = 0, .max = 5ull << 30,
		  .help = "objects up to this size are made by one request; 0: up to a part"),
	OPT_U64("in_flight", struct http_options, in_flight, .def = 1, .min = 1,
		.max = HTTP_IN_FLIGHT_MAX,
		.help = "requests of one sample read, or parts of one object made, at once at most; "
			"the loader's depth goes first"),
	OPT_CHOICE("checksum", struct http_options, checksum, .choices = sum_names,
		   .help = "sent with what is written, compared with what is read where the store "
			   "tells one"),
	OPT_END,
};

/* Those of the job; the environment's can only be known where the store is opened. */
int http_check(const void *options, const char *path, struct err *err)
{
	const struct http_options *o = options;
	char where[256];
	struct servers s;
	int rc = client_check(o, path, err);

	if (rc == 0)
		rc = sum_check(o, path, err);
	if (rc < 0)
		return rc;
	snprintf(where, sizeof(where), "%s/endpoints", path);
	for (uint32_t i = 0; i < o->endpoints.count; i++) {
		const char *text = o->endpoints.items[i];

		if (!text[0] || strncmp(text, "file:", 5) == 0)
			continue;
		rc = servers_parse(&s, &text, 1, where, err);
		if (rc < 0)
			return rc;
		servers_free(&s);
	}
	return 0;
}

static uint64_t transfer_of(const struct http_options *o)
{
	return o->common.transfer ? o->common.transfer : HTTP_TRANSFER;
}

uint64_t http_range(const void *options, uint64_t largest, uint32_t depth)
{
	const struct http_options *o = options;
	uint64_t bytes = transfer_of(o), share;

	if (o->split == SPLIT_OFF || largest < o->split_from)
		return UINT64_MAX;
	if (o->split == SPLIT_SIZE)
		return bytes;
	share = largest ? (largest - 1) / depth : 0;
	if (share >= bytes)
		return bytes;
	share = (share / ADAPTIVE_MIN + 1) * ADAPTIVE_MIN;
	return share < bytes ? share : bytes;
}

uint64_t http_part(const void *options, uint64_t length)
{
	const struct http_options *o = options;
	uint64_t part = o->part ? o->part : transfer_of(o);

	return length && length <= o->put_whole ? length : part;
}

uint32_t http_in_flight(const void *options)
{
	const struct http_options *o = options;

	return (uint32_t)o->in_flight;
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
	return (int64_t)(clock_utc_ns() / 1000000000) +
	       atomic_load_explicit(&http->skew, memory_order_relaxed);
}

static int endpoints_of(struct store *store, struct http_store *http, struct err *err)
{
	const char **names = calloc(http->servers.count, sizeof(*names));
	int rc;

	if (!names)
		return err_set(err, -ENOMEM, "no memory for %u endpoints", http->servers.count);
	for (uint32_t i = 0; i < http->servers.count; i++)
		names[i] = http->servers.list[i].name;
	rc = endpoints_open(&store->endpoints, names, http->servers.count, &http->options->balance,
			    &store->place, err);
	free(names);
	return rc;
}

static int prepare(struct store *store, struct http_store *http, struct err *err)
{
	char label[BUCKET_BYTES + 2] = "";
	int rc = credentials_init(&http->credentials, &http->transport);

	if (rc < 0)
		return err_set(err, rc, "%s: no lock", store->uri);
	rc = http->dialect->open(store, http, err);
	if (rc < 0)
		return err_wrap(err, rc, "%s", store->uri);
	if (http->virtual_host)
		snprintf(label, sizeof(label), "%s.", http->bucket);
	rc = servers_resolve(&http->servers, label);
	if (rc < 0)
		return err_set(err, rc, "%s: no memory for addresses", store->uri);
	return endpoints_of(store, http, err);
}

int http_open(struct store *store, const struct dialect *dialect, struct err *err)
{
	const struct http_options *o = store->options;
	struct http_store *http = calloc(1, sizeof(*http));
	const char *ca = o->ca[0] ? o->ca : getenv("AWS_CA_BUNDLE");
	int rc;

	if (!http)
		return err_set(err, -ENOMEM, "%s: no memory", store->uri);
	http->dialect = dialect;
	http->options = o;
	http->transport = (struct transport_options){
		.depth = 1,
		.connections = 1,
		.connect_ns = o->connect_ns,
		.first_byte_ns = o->first_byte_ns,
		.stall_ns = o->stall_ns,
		.insecure = o->insecure,
		.ca = ca && ca[0] ? ca : NULL,
		.clock = store->clock,
	};
	store->state = http;
	store->retry = &o->retry;
	rc = prepare(store, http, err);
	if (rc < 0)
		http_close(store);
	return rc;
}

void http_close(struct store *store)
{
	struct http_store *http = store->state;

	endpoints_close(store->endpoints);
	store->endpoints = NULL;
	servers_free(&http->servers);
	credentials_free(&http->credentials);
	free(http);
	store->state = NULL;
}

void http_describe(const struct store *store, struct store_facts *facts)
{
	const struct http_store *http = store->state;

	snprintf(facts->engine, sizeof(facts->engine), "lib%s", transport_curl.name);
	snprintf(facts->file_system, sizeof(facts->file_system), "%s", http->dialect->name);
	snprintf(facts->layout, sizeof(facts->layout), "%u endpoint%s, by %s", http->servers.count,
		 http->servers.count == 1 ? "" : "s",
		 balance_names[http->options->balance.balance]);
	snprintf(facts->client, sizeof(facts->client), "%s", client_names[http->options->client]);
	if (http->options->insecure)
		snprintf(facts->note, sizeof(facts->note),
			 "insecure: the servers' certificates are not verified");
	facts->copies_read = transport_curl.copies;
	facts->copies_streamed = transport_curl.copies;
	facts->copies_written = transport_curl.copies;
}
