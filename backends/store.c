/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a store: the URI of this rank, and the options that every store has. See backend.h. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backends/node_block.h"
#include "backends/store.h"
#include "core/content/fnv.h"
#include "core/numbers.h"
#include "core/units.h"

const struct option store_common_options[] = {
	OPT_TEXTS("uri", struct store_options, uri, .required = true,
		  .help = "scheme://…, or a list that is divided among the ranks"),
	OPT_BYTES("transfer", struct store_options, transfer, .def = 0, .max = 1ull << 40,
		  .help = "the most bytes per request; 0: the store's own choice"),
	OPT_TIME("timeout", struct store_options, timeout_ns, .def = 0,
		 .help = "a request that takes longer counts as late; 0: no limit"),
	OPT_END,
};

void backends_process_begin(const struct job_store *stores, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct backend_ops *ops = stores[i].section->owner;
		bool first = ops->process_begin;

		for (uint32_t k = 0; k < i; k++)
			first = first && stores[k].section->owner != ops;
		if (first)
			ops->process_begin();
	}
}

uint32_t backend_depth(const struct job_store *described)
{
	const struct backend_ops *ops = described->section->owner;

	return ops->depth ? ops->depth(described->options) : ops->depth_max;
}

void backends_process_end(struct store_process *process)
{
	struct store_keep *keep;

	while ((keep = process->first) != NULL) {
		process->first = keep->next;
		keep->end(keep);
	}
}

static uint64_t store_transfer_of(const struct backend_ops *ops, const void *options)
{
	const struct store_options *common = options;
	uint64_t bytes = common->transfer ? common->transfer : ops->transfer;

	return bytes ? bytes : UINT64_MAX;
}

static uint64_t store_range_of(const struct backend_ops *ops, const void *options, uint64_t largest,
			       uint32_t depth)
{
	return ops->range ? ops->range(options, largest, depth) : store_transfer_of(ops, options);
}

uint64_t backend_range(const struct job_store *described, uint64_t largest, uint32_t depth)
{
	return store_range_of(described->section->owner, described->options, largest, depth);
}

static uint64_t store_part_of(const struct backend_ops *ops, const void *options, uint64_t length)
{
	return ops->part ? ops->part(options, length) : store_transfer_of(ops, options);
}

uint64_t backend_part(const struct job_store *described, uint64_t length)
{
	return store_part_of(described->section->owner, described->options, length);
}

uint64_t backend_part_least(const struct job_store *described, uint64_t length, uint64_t wanted)
{
	const struct backend_ops *ops = described->section->owner;
	const uint64_t unit = 1 << 20;
	uint64_t part = wanted;

	if (ops->capabilities & BACKEND_UPDATE || length <= wanted)
		return wanted;
	part = max_u64(part, ops->part_min);
	if (ops->parts_max)
		part = max_u64(part, (length + ops->parts_max - 1) / ops->parts_max);
	return part > wanted ? (part + unit - 1) / unit * unit : wanted;
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

enum { STORE_PATH_BYTES = sizeof("/stores/") + JOB_NAME_BYTES };

int store_check(const struct job_store *described, const char *path, struct err *err)
{
	const struct backend_ops *ops = described->section->owner;
	const struct store_options *common = described->options;
	char scheme[URI_SCHEME_BYTES];
	int rc;

	if (common->uri.count == 0)
		return err_set(err, -EINVAL, "%s/uri: the list must name at least one store", path);
	for (uint32_t i = 0; i < common->uri.count; i++) {
		rc = uri_scheme(common->uri.items[i], scheme, err);
		if (rc < 0)
			return err_wrap(err, rc, "%s/uri", path);
		if (strcmp(scheme, ops->scheme) != 0)
			return err_set(err, -EINVAL,
				       "%s/uri: \"%s\" must be %s:// like the first of the list",
				       path, common->uri.items[i], ops->scheme);
	}
	return ops->check ? ops->check(described->options, path, err) : 0;
}

/* The memory of this store on the node: reserved by the node's ranks, or this rank's own. */
static int store_share_memory(struct store *store, const struct job_store *described,
			      const char *path, struct err *err)
{
	uint64_t bytes = backend_node_bytes(described);
	void *memory;

	if (!bytes)
		return 0;
	store->node_block = node_block_find(store->node, described);
	if (store->node_block)
		return 0;
	if (store->node && store->node->size > 1)
		return err_set(err, -EINVAL,
			       "%s: its memory was not reserved for the %u ranks of this node",
			       path, store->node->size);
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return err_set(err, -ENOMEM, "%s: no memory for %llu bytes", path,
			       (unsigned long long)bytes);
	store->node_block = memory;
	store->private_bytes = bytes;
	if (store->ops->node_init)
		store->ops->node_init(memory, described->options);
	return 0;
}

/* This rank's URI of the store, and what follows its scheme. */
static int store_locate(const struct job_store *described, const struct rank_place *place,
			const char *path, char uri[URI_BYTES], char root[URI_BYTES],
			struct err *err)
{
	const struct store_options *common = described->options;
	const char *rest;
	int rc =
		uri_expand(common->uri.items[place->endpoint % common->uri.count], place, uri, err);

	if (rc < 0)
		return err_wrap(err, rc, "%s/uri", path);
	rest = strstr(uri, "://");
	if (!rest)
		return err_set(err, -EINVAL, "%s/uri: \"%s\" is not a URI", path, uri);
	strcpy(root, rest + 3);
	return 0;
}

int stores_stand(const struct job_store *stores, uint32_t count, const struct rank_place *place,
		 struct err *err)
{
	char path[STORE_PATH_BYTES], uri[URI_BYTES], root[URI_BYTES];
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		const struct backend_ops *ops = stores[i].section->owner;

		if (!ops->stand)
			continue;
		snprintf(path, sizeof(path), "/stores/%s", stores[i].name);
		rc = store_locate(&stores[i], place, path, uri, root, err);
		if (rc < 0)
			return rc;
		rc = ops->stand(stores[i].options, root, err);
		if (rc < 0)
			err_wrap(err, rc, "%s/on", path);
	}
	return rc;
}

/* Does all that can fail on one rank alone, before anything collective. */
static int store_prepare(struct store *store, const struct job_store *described, struct err *err)
{
	char path[STORE_PATH_BYTES] = "/stores/";
	int rc;

	strcat(path, described->name);
	rc = store_check(described, path, err);
	if (rc < 0)
		return rc;
	rc = store_locate(described, &store->place, path, store->uri, store->root, err);
	if (rc < 0)
		return rc;
	if (store->place.nodes > 1 && !store_can(store, BACKEND_MANY_NODES))
		return err_set(err, -EINVAL, "%s: %s:// serves one node, not %u", path,
			       store->ops->scheme, store->place.nodes);
	return store_share_memory(store, described, path, err);
}

static void store_drop_memory(struct store *store)
{
	if (store->private_bytes)
		munmap(store->node_block, store->private_bytes);
	store->private_bytes = 0;
	store->node_block = NULL;
}

/* All ranks open the store or none does. */
static int store_agree(const struct store *store, int rc, struct err *err)
{
	struct group *together = store->all ? store->all : store->node;

	return together ? group_agree(together, rc, err) : rc;
}

int store_open(struct store *store, const struct job_store *described,
	       const struct store_opener *by, struct err *err)
{
	int rc, mine;

	*store = (struct store){
		.ops = described->section->owner,
		.options = described->options,
		.place = *by->place,
		.clock = by->clock,
		.log = by->log,
		.all = by->all,
		.node = by->node,
		.stop = by->stop,
		.process = by->process,
		.patience_ns = by->patience_ns,
		.seed = by->seed,
		.constant = by->constant,
		.alignment = 1,
	};
	rc = store_agree(store, store_prepare(store, described, err), err);
	if (rc == 0) {
		mine = store->ops->open(store, err);
		rc = store_agree(store, mine, err);
		if (rc < 0 && mine == 0 && store->ops->close)
			store->ops->close(store);
	}
	if (rc < 0) {
		store_drop_memory(store);
		store->ops = NULL;
	}
	return rc;
}

void store_close(struct store *store)
{
	if (!store->ops)
		return;
	if (store->ops->close)
		store->ops->close(store);
	store_drop_memory(store);
	store->ops = NULL;
}

void store_describe(const struct store *store, const struct job_store *described,
		    struct store_facts *facts)
{
	const struct texts *uris = &store_common(store)->uri;
	const char *told = getenv("HAUL_DEGRADED");
	int length;

	memset(facts, 0, sizeof(*facts));
	snprintf(facts->name, sizeof(facts->name), "%s", described->name);
	length = snprintf(facts->uri, sizeof(facts->uri), "%s", uris->items[0]);
	if (uris->count > 1 && length < (int)sizeof(facts->uri))
		snprintf(facts->uri + length, sizeof(facts->uri) - (size_t)length, " and %u more",
			 uris->count - 1);
	facts->nodes = 1;
	/* Job scripts ask what no file system tells. */
	snprintf(facts->degraded, sizeof(facts->degraded), "%s",
		 told && (store->ops->capabilities & BACKEND_PERSISTENT) ? told : "");
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

int64_t store_evict(const struct store *store, const struct object *o, uint64_t offset,
		    uint64_t length)
{
	return store->ops->evict ? store->ops->evict(store, o, offset, length) : -ENOTSUP;
}

int64_t store_holes(const struct store *store, const struct object *o)
{
	return store->ops->holes ? store->ops->holes(store, o) : -ENOTSUP;
}

int store_space(const struct store *store, struct store_space *out)
{
	return store->ops->space ? store->ops->space(store, out) : -ENOTSUP;
}

static uint64_t store_align(const struct store *store, uint64_t bytes)
{
	if (bytes == UINT64_MAX)
		return bytes;
	bytes -= bytes % store->alignment;
	return bytes ? bytes : store->alignment;
}

uint64_t store_transfer(const struct store *store)
{
	return store_align(store, store_transfer_of(store->ops, store->options));
}

uint64_t store_range(const struct store *store, uint64_t largest, uint32_t depth)
{
	return store_align(store, store_range_of(store->ops, store->options, largest, depth));
}

uint64_t store_part(const struct store *store, uint64_t length)
{
	return store_align(store, store_part_of(store->ops, store->options, length));
}

uint64_t text_hash(const char *text)
{
	return fnv_add(FNV_START, text, strlen(text));
}
