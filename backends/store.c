/* Opening a store: the URI of this rank's own, the options that every store has. */
#include "backends/backend.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/store.h"
#include "core/content/fnv.h"
#include "core/units.h"

const struct option store_common_options[] = {
	OPT_TEXTS("uri", struct store_options, uri, .required = true,
		  .help = "scheme://…, or a list shared out over the ranks"),
	OPT_BYTES("transfer", struct store_options, transfer, .def = 0, .max = 1ull << 40,
		  .help = "bytes a request at most; 0: the store's own"),
	OPT_TIME("timeout", struct store_options, timeout_ns, .def = 0,
		 .help = "a request that takes longer counts as late; 0: none"),
	OPT_END,
};

static const char *const op_names[REQ_OPS] = {
	[REQ_OPEN] = "open",     [REQ_READ] = "read",   [REQ_CLOSE] = "close",
	[REQ_BEGIN] = "begin",   [REQ_WRITE] = "write", [REQ_COMMIT] = "commit",
	[REQ_ABORT] = "abort",   [REQ_STAT] = "stat",   [REQ_DELETE] = "delete",
	[REQ_RENAME] = "rename", [REQ_LIST] = "list",   [REQ_UPDATE] = "update",
};

uint32_t request_failures(const struct request *req)
{
	uint32_t n = 0;

	if (!request_keys(req))
		return request_failed(req);
	for (uint32_t i = 0; i < request_keys(req); i++)
		n += req->batch.keys[i].status && req->batch.keys[i].status != -ENOENT;
	return n;
}

const char *request_op_name(enum request_op op)
{
	return (unsigned)op < REQ_OPS ? op_names[op] : "unknown";
}

static const char *const fault_names[REQ_FAULTS] = {
	[REQ_FAULT_NONE] = "none",         [REQ_FAULT_CONNECT] = "connect",
	[REQ_FAULT_TLS] = "tls",           [REQ_FAULT_TIMEOUT] = "timeout",
	[REQ_FAULT_STALL] = "stall",       [REQ_FAULT_BROKEN] = "broken",
	[REQ_FAULT_THROTTLE] = "throttle", [REQ_FAULT_SERVER] = "server",
	[REQ_FAULT_DENIED] = "denied",     [REQ_FAULT_MISSING] = "missing",
	[REQ_FAULT_OTHER] = "other",
};

const char *request_fault_name(enum request_fault fault)
{
	return (unsigned)fault < REQ_FAULTS ? fault_names[fault] : "unknown";
}

const char *request_status_text(int status)
{
	const char *text = strerrordesc_np(-status);

	if (status == -ENODATA)
		return "ends early";
	return text ? text : "unknown error";
}

const char *request_text(const struct request *req)
{
	return req->answer.why ? req->answer.why : request_status_text(req->answer.status);
}

uint32_t backend_depth(const struct job_store *described)
{
	const struct backend_ops *ops = described->section->owner;

	return ops->depth ? ops->depth(described->options) : ops->depth_max;
}

static uint64_t transfer_of(const struct backend_ops *ops, const void *options)
{
	const struct store_options *common = options;
	uint64_t bytes = common->transfer ? common->transfer : ops->transfer;

	return bytes ? bytes : UINT64_MAX;
}

static uint64_t range_of(const struct backend_ops *ops, const void *options, uint64_t largest,
			 uint32_t depth)
{
	return ops->range ? ops->range(options, largest, depth) : transfer_of(ops, options);
}

uint64_t backend_range(const struct job_store *described, uint64_t largest, uint32_t depth)
{
	return range_of(described->section->owner, described->options, largest, depth);
}

static uint64_t part_of(const struct backend_ops *ops, const void *options, uint64_t length)
{
	return ops->part ? ops->part(options, length) : transfer_of(ops, options);
}

uint64_t backend_part(const struct job_store *described, uint64_t length)
{
	return part_of(described->section->owner, described->options, length);
}

int backend_check_parts(const struct job_store *described, uint64_t length, uint64_t part,
			const char *path, struct err *err)
{
	const struct backend_ops *ops = described->section->owner;
	uint64_t parts = length ? (length - 1) / part + 1 : 1;
	char least[UNITS_TEXT_BYTES], is[UNITS_TEXT_BYTES];

	units_bytes_binary(is, (double)part);
	if (parts > 1 && part < ops->part_min)
		return err_set(err, -EINVAL,
			       "%s: parts of an object of %s:// have at least %s, not %s", path,
			       ops->scheme, units_bytes_binary(least, (double)ops->part_min), is);
	if (ops->parts_max && parts > ops->parts_max)
		return err_set(err, -EINVAL,
			       "%s: an object of %s:// has at most %llu parts, not %llu of %s",
			       path, ops->scheme, (unsigned long long)ops->parts_max,
			       (unsigned long long)parts, is);
	return 0;
}

uint32_t backend_in_flight(const struct job_store *described)
{
	const struct backend_ops *ops = described->section->owner;

	return ops->in_flight ? ops->in_flight(described->options) : 1;
}

int store_check(const struct job_store *described, const char *path, struct err *err)
{
	const struct backend_ops *ops = described->section->owner;
	const struct store_options *common = described->options;
	char scheme[URI_SCHEME_BYTES];
	int rc;

	if (common->uri.count == 0)
		return err_set(err, -EINVAL, "%s/uri: an empty list names no store", path);
	for (uint32_t i = 0; i < common->uri.count; i++) {
		rc = uri_scheme(common->uri.items[i], scheme, err);
		if (rc < 0)
			return err_wrap(err, rc, "%s/uri", path);
		if (strcmp(scheme, ops->scheme) != 0)
			return err_set(err, -EINVAL,
				       "%s/uri: \"%s\" is not %s:// as the first of the list is",
				       path, common->uri.items[i], ops->scheme);
	}
	return ops->check ? ops->check(described->options, path, err) : 0;
}

/* All that can fail on one rank alone, before anything collective. */
static int prepare(struct store *store, const struct job_store *described, struct err *err)
{
	const struct store_options *common = described->options;
	char path[sizeof("/stores/") + JOB_NAME_BYTES] = "/stores/";
	const char *rest;
	int rc;

	strcat(path, described->name);
	rc = store_check(described, path, err);
	if (rc < 0)
		return rc;
	rc = uri_expand(common->uri.items[store->place.endpoint % common->uri.count], &store->place,
			store->uri, err);
	if (rc < 0)
		return err_wrap(err, rc, "%s/uri", path);
	rest = strstr(store->uri, "://");
	if (!rest)
		return err_set(err, -EINVAL, "%s/uri: \"%s\" is no URI", path, store->uri);
	strcpy(store->root, rest + 3);
	if (store->place.nodes > 1 && !store_can(store, BACKEND_MANY_NODES))
		return err_set(err, -EINVAL, "%s: %s:// serves one node, not %u", path,
			       store->ops->scheme, store->place.nodes);
	return 0;
}

/* On a node all ranks open the store or none does. */
static int agree(struct store *store, int rc, struct err *err)
{
	return store->node ? group_agree(store->node, rc, err) : rc;
}

int store_open(struct store *store, const struct job_store *described,
	       const struct rank_place *place, struct group *node, struct clock *clock,
	       const struct log *log, uint64_t seed, struct err *err)
{
	int rc, mine;

	*store = (struct store){
		.ops = described->section->owner,
		.options = described->options,
		.place = *place,
		.clock = clock,
		.log = log,
		.node = node,
		.seed = seed,
		.alignment = 1,
	};
	rc = agree(store, prepare(store, described, err), err);
	if (rc == 0) {
		mine = store->ops->open(store, err);
		rc = agree(store, mine, err);
		if (rc < 0 && mine == 0)
			store_close(store);
	}
	if (rc < 0)
		store->ops = NULL;
	return rc;
}

void store_close(struct store *store)
{
	if (store->ops && store->ops->close)
		store->ops->close(store);
	store->ops = NULL;
}

void store_describe(const struct store *store, const struct job_store *described,
		    struct store_facts *facts)
{
	const struct texts *uris = &store_common(store)->uri;
	int length;

	memset(facts, 0, sizeof(*facts));
	snprintf(facts->name, sizeof(facts->name), "%s", described->name);
	length = snprintf(facts->uri, sizeof(facts->uri), "%s", uris->items[0]);
	if (uris->count > 1 && length < (int)sizeof(facts->uri))
		snprintf(facts->uri + length, sizeof(facts->uri) - (size_t)length, " and %u more",
			 uris->count - 1);
	facts->nodes = 1;
	if (store->ops->describe)
		store->ops->describe(store, facts);
}

bool store_can(const struct store *store, enum backend_capability what)
{
	return (store->ops->capabilities & what) == (uint32_t)what;
}

int64_t store_resident(const struct store *store, const struct object *o, uint64_t offset,
		       uint64_t length)
{
	return store->ops->resident ? store->ops->resident(store, o, offset, length) : -ENOTSUP;
}

int64_t store_evict(const struct store *store, const struct object *o)
{
	return store->ops->evict ? store->ops->evict(store, o) : -ENOTSUP;
}

static uint64_t align(const struct store *store, uint64_t bytes)
{
	if (bytes == UINT64_MAX)
		return bytes;
	bytes -= bytes % store->alignment;
	return bytes ? bytes : store->alignment;
}

uint64_t store_transfer(const struct store *store)
{
	return align(store, transfer_of(store->ops, store->options));
}

uint64_t store_range(const struct store *store, uint64_t largest, uint32_t depth)
{
	return align(store, range_of(store->ops, store->options, largest, depth));
}

uint64_t store_part(const struct store *store, uint64_t length)
{
	return align(store, part_of(store->ops, store->options, length));
}

uint64_t text_hash(const char *text)
{
	return fnv_add(FNV_START, text, strlen(text));
}
