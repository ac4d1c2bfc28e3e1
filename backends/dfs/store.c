/* SPDX-License-Identifier: Apache-2.0 */
/* The store behind daos://pool/container/path: a POSIX container of DAOS, through libdfs, without a
 * mount. Options, those of other libraries among them, opening, and what is in effect.
 *
 * 	store.c ──► client.c      the client, started once per process
 * 	                └──► library.c, opened at run time (abi.h says what it looks like)
 * 	        ──► connection.c  one connection for all ranks
 * 	aside.c                   calls that may never return
 * 	channel.c                 reads and writes, by the event queue of a thread
 * 	opener.c ──► object.c     all other requests, by threads that wait for them
 * 	         ──► listing.c    a page of a folder
 * 	kept.c                    what the rank keeps open: folders, and files that are read
 * 	code.c                    codes of DAOS as errnos and sentences */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/dfs/aside.h"
#include "backends/dfs/channel.h"
#include "backends/dfs/code.h"
#include "backends/dfs/connection.h"
#include "backends/dfs/dfs.h"
#include "backends/store.h"
#include "backends/stores.h"
#include "core/units.h"

/* What is in effect on an open store daos://, and the space of its pool: hooks of struct
 * backend_ops. */

/* By the number that the options have; store.c. */
extern const char *const dfs_client_names[];

/* Facts are worth no longer wait. */
#define DESCRIBE_NS UINT64_C(5000000000)

struct describe_call {
	struct dfs_store *s;
	char layout[sizeof(((struct store_facts *)NULL)->layout)];
	char degraded[sizeof(((struct store_facts *)NULL)->degraded)];
	int rc;
	uint64_t free_bytes;
};

static void describe_add(struct describe_call *c, const char *text)
{
	size_t n = strlen(c->layout);

	snprintf(c->layout + n, sizeof(c->layout) - n, "%s%s", n ? "; " : "", text);
}

/* Asks the pool for what wanted says. Returns 0 or a negative errno. */
static int describe_query(const struct dfs_store *s, struct dfs_pool_info *info)
{
	const struct dfs_library *l = &s->library;
	struct dfs_handle pool;
	int rc;

	if (!l->daos_pool_query || !l->dfs_pool_get || !l->dfs_pool_put)
		return -ENOTSUP;
	rc = dfs_code_errno(l->dfs_pool_get(s->mount, &pool));
	if (rc < 0)
		return rc;
	rc = dfs_code_errno(l->daos_pool_query(pool, NULL, info, NULL, NULL));
	l->dfs_pool_put(s->mount, pool);
	return rc;
}

/* Servers of DAOS are engines, of which a machine may have several. */
static void describe_pool(struct describe_call *c)
{
	char engines[UNITS_COUNTED_BYTES], targets[UNITS_COUNTED_BYTES], text[128];
	struct dfs_pool_info info = {.wanted = 0};

	if (describe_query(c->s, &info) < 0)
		return;
	units_counted(targets, info.targets, "target");
	if (info.disabled_targets)
		snprintf(c->degraded, sizeof(c->degraded), "%u of %s are out of service",
			 info.disabled_targets, targets);
	snprintf(text, sizeof(text), "%s with %s", units_counted(engines, info.engines, "engine"),
		 targets);
	describe_add(c, text);
}

/* The name of a class tells how often data are there: S1, RP_2GX, EC_16P2GX. */
static void describe_redundancy(const char *class, char text[64])
{
	unsigned data, more;

	text[0] = '\0';
	if (sscanf(class, "RP_%uG", &more) == 1)
		snprintf(text, 64, ", %u copies", more);
	else if (sscanf(class, "EC_%uP%uG", &data, &more) == 2)
		snprintf(text, 64, ", %u parities for %u parts", more, data);
	else if (class[0] == 'S')
		snprintf(text, 64, ", no redundancy");
}

/* The class and the chunks of a folder's new files. */
static void describe_layout(struct describe_call *c)
{
	char class[DFS_CLASS_NAME_BYTES] = "", chunk[UNITS_TEXT_BYTES], redundancy[64], text[224];
	struct dfs_object_info info = {0};
	struct dfs_store *s = c->s;
	struct dfs_kept *folder;
	uint32_t id;

	/* A path that is not there yet will be made below the container's root. */
	if (dfs_folder_take(&s->folders, s->base[0] ? s->base : "/", false, &folder) &&
	    dfs_folder_take(&s->folders, "/", false, &folder))
		return;
	if (s->library.dfs_obj_get_info(s->mount, folder->object, &info) == 0) {
		id = s->object_class   ? s->object_class
		     : info.file_class ? info.file_class
				       : info.object_class;
		if (id)
			s->library.daos_oclass_id2name(id, class);
		describe_redundancy(class, redundancy);
		snprintf(text, sizeof(text), "new files: class %s%s, chunks of %s",
			 class[0] ? class : "unknown", redundancy,
			 units_bytes_binary(chunk, (double)(s->chunk_bytes ? s->chunk_bytes
									   : info.chunk_bytes)));
		describe_add(c, text);
	}
	dfs_folder_drop(&s->folders, folder);
}

static void describe_work(void *from)
{
	describe_pool(from);
	describe_layout(from);
}

static void describe_space(void *from)
{
	struct dfs_pool_info info = {.wanted = DFS_POOL_SPACE};
	struct describe_call *c = from;

	c->rc = describe_query(c->s, &info);
	c->free_bytes = info.free[0] + info.free[1];
}

/* False: DAOS does not answer. */
static bool describe_do(const struct store *store, void (*work)(void *),
			struct describe_call **call)
{
	struct dfs_patience patience = {.stop = store->stop, .limit_ns = DESCRIBE_NS};
	struct dfs_store *s = dfs_store_of(store);

	*call = calloc(1, sizeof(**call));
	if (!*call || atomic_load(&s->left)) {
		free(*call);
		return false;
	}
	(*call)->s = s;
	if (dfs_aside_do(&patience, work, free, *call))
		return true;
	atomic_store(&s->left, true);
	return false;
}

static void dfs_describe(const struct store *store, struct store_facts *facts)
{
	const struct dfs_library *l = &dfs_store_of(store)->library;
	struct describe_call *c;

	/* The product has another version than its interface: DAOS 2.4 has interface 2.7. */
	if (l->product[0])
		snprintf(facts->engine, sizeof(facts->engine), "libdfs %.8s, API %d.%d", l->product,
			 l->major, l->minor);
	else
		snprintf(facts->engine, sizeof(facts->engine), "libdfs, API %d.%d.%d", l->major,
			 l->minor, l->fix);
	snprintf(facts->file_system, sizeof(facts->file_system), "DAOS");
	snprintf(facts->client, sizeof(facts->client), "%s",
		 dfs_client_names[dfs_options_of(store)->client]);
	if (!describe_do(store, describe_work, &c))
		return;
	memcpy(facts->layout, c->layout, sizeof(facts->layout));
	if (c->degraded[0])
		memcpy(facts->degraded, c->degraded, sizeof(facts->degraded));
	free(c);
}

static int dfs_space(const struct store *store, struct store_space *out)
{
	struct describe_call *c;
	int rc;

	if (!describe_do(store, describe_space, &c))
		return -ETIMEDOUT;
	rc = c->rc;
	*out = (struct store_space){.free_bytes = c->free_bytes, .device = text_hash(store->root)};
	free(c);
	return rc;
}

/* Client profiles: what other libraries do by default, as the options that make haul do the same.
 * docs/stores-daos.md has the same table, and what options cannot express. */
enum { DFS_CLIENT_DFS, DFS_CLIENT_PYDAOS };
const char *const dfs_client_names[] = {
	[DFS_CLIENT_DFS] = "dfs",
	[DFS_CLIENT_PYDAOS] = "pydaos",
	NULL,
};

/* pydaos.torch of DAOS 2.8: a sample is opened and read by one request each time, and a checkpoint
 * is written in chunks by four processes. */
static void dfs_client_preset(void *into)
{
	struct dfs_options *o = into;

	if (o->client != DFS_CLIENT_PYDAOS)
		return;
	o->handles = 0;
	o->folders = 64 << 10;
	o->common.transfer = 1ull << 40;
	o->part_bytes = 64 << 20;
	o->in_flight = 4;
}

enum { DFS_TRANSFER = 4 << 20 };

static const struct option dfs_option_table[] = {
	OPT_TEXT("library", struct dfs_options, library, .def_text = "",
		 .help = "path of libdfs; empty: " DFS_LIBRARY_NAME
			 ", where the dynamic linker finds it"),
	OPT_TEXT("system", struct dfs_options, system, .def_text = "",
		 .help = "name of the DAOS system; empty: that of the node's agent"),
	OPT_TEXT(
		"object_class", struct dfs_options, object_class, .def_text = "",
		.help = "object class of new files (SX, EC_16P2GX …); empty: as their folder or the "
			"container says"),
	OPT_TEXT(
		"folder_class", struct dfs_options, folder_class, .def_text = "",
		.help = "object class of new folders; empty: as the folder above or the container says"),
	OPT_BYTES(
		"chunk_size", struct dfs_options, chunk_bytes, .def = 0, .max = 1ull << 40,
		.help = "bytes of new files that lie together; 0: as their folder or the container says"),
	OPT_U64("openers", struct dfs_options, openers, .def = 1, .min = 1, .max = 64,
		.help = "threads per queue that open, publish and list, which libdfs does one at a time"),
	OPT_CHOICE("client", struct dfs_options, client, .choices = dfs_client_names,
		   .preset = dfs_client_preset,
		   .help = "the library to imitate: its defaults become those of the options here"),
	OPT_BYTES("part", struct dfs_options, part_bytes, .def = 0, .max = 1ull << 40,
		  .help = "the most bytes per write of generate; 0: transfer"),
	OPT_U64("handles", struct dfs_options, handles, .def = 4096, .max = 1 << 24,
		.help = "the greatest number of files that a rank keeps open, in phases that only read; 0: each read opens its file"),
	OPT_U64("folders", struct dfs_options, folders, .def = 4096, .min = 1, .max = 1 << 24,
		.help = "the greatest number of folders that a rank keeps open"),
	OPT_U64("in_flight", struct dfs_options, in_flight, .def = 1, .min = 1,
		.max = QUEUE_DEPTH_MAX,
		.help = "the greatest number of requests in flight for one sample that is read, or for one "
			"object that is written; the loader's depth takes precedence"),
	OPT_TABLE("retry", struct dfs_options, retry, .table = retry_option_table,
		  .help = "how requests that fail in passing are tried again"),
	OPT_END,
};

/* The URI of a job may hold placeholders and variables, known only at open. */
static int dfs_check(const void *from, const char *path, struct err *err)
{
	const struct texts *uris = &((const struct dfs_options *)from)->common.uri;

	for (uint32_t i = 0; i < uris->count; i++) {
		const char *rest = strstr(uris->items[i], "://");
		size_t n = rest ? strcspn(rest + 3, "/") : 0;

		if (rest && strpbrk(rest + 3, "${"))
			continue;
		if (!rest || n == 0 || rest[3 + n] != '/' || strchr("/", rest[4 + n]))
			return err_set(err, -EINVAL,
				       "%s/uri: \"%s\" names no container; write "
				       "daos://pool/container/path",
				       path, uris->items[i]);
	}
	return 0;
}

/* What follows the container, with one slash before each name and none at the end. */
static int store_base(const struct store *store, struct dfs_store *s, struct err *err)
{
	const char *at = strchr(store->root, '/');
	size_t n = 0;

	at = at ? at + 1 : "";
	if (!store->root[0] || store->root[0] == '/' || !at[0] || at[0] == '/')
		return err_set(err, -EINVAL,
			       "\"%s\" names no container; write daos://pool/container/path",
			       store->uri);
	for (at = strchrnul(at, '/'); *at; at++)
		if (*at != '/' || (at[1] && at[1] != '/'))
			s->base[n++] = *at;
	s->base[n] = '\0';
	return 0;
}

static int store_class(const struct store *store, const struct dfs_library *l, const char *key,
		       const char *name, uint32_t *id, struct err *err)
{
	*id = DFS_CLASS_DEFAULT;
	if (!name[0])
		return 0;
	*id = (uint32_t)l->daos_oclass_name2id(name);
	if (*id != DFS_CLASS_DEFAULT)
		return 0;
	return err_set(err, -EINVAL, "%s: %s: DAOS knows no object class \"%s\"", store->uri, key,
		       name);
}

/* Starting the client may never return. */
struct store_start {
	struct dfs_store *s;
	char name[URI_BYTES], uri[URI_BYTES];
	int rc;
	struct err err;
};

static void start_client(void *from)
{
	struct store_start *start = from;

	start->s->client = dfs_client_start(start->name, start->uri, &start->rc, &start->err);
}

static int store_start(const struct store *store, struct dfs_store *s, struct err *err)
{
	struct dfs_patience patience = {.stop = store->stop, .limit_ns = store->patience_ns};
	struct store_start *start = calloc(1, sizeof(*start));
	int rc;

	if (!start)
		return err_set(err, -ENOMEM, "no memory for %s", store->uri);
	start->s = s;
	strcpy(start->name, dfs_options_of(store)->library);
	strcpy(start->uri, store->uri);
	if (!dfs_aside_do(&patience, start_client, free, start)) {
		atomic_store(&s->left, true);
		return err_set(
			err, dfs_patience_error(&patience),
			"%s: the client of DAOS had not started when nobody would wait any longer; is "
			"daos_agent running, and are engines up (dmg system query)?",
			store->uri);
	}
	rc = start->rc;
	if (rc < 0)
		*err = start->err;
	else if (store->process)
		dfs_client_keep(store->process, s->client);
	else
		s->owns = true;
	free(start);
	return rc;
}

static void store_say_invalid(struct dfs_store *s, const char *class)
{
	uint32_t targets = dfs_code_class_targets(class);
	char count[UNITS_COUNTED_BYTES];

	if (class[0])
		snprintf(
			s->invalid, sizeof(s->invalid),
			"DAOS calls it invalid: the pool may not carry object class %s%s%s (daos pool query)",
			class, targets ? ", which needs " : "",
			targets ? units_counted(count, targets, "target") : "");
}

/* All that a rank does by itself before the ranks connect. */
static int store_begin(const struct store *store, struct dfs_store *s, struct err *err)
{
	const struct dfs_options *o = dfs_options_of(store);
	int rc = store_base(store, s, err);

	s->read_only = store->constant;
	s->clock = store->clock;
	s->log = store->log;
	s->chunk_bytes = o->chunk_bytes;
	store_say_invalid(s, o->object_class);
	s->client = dfs_client_find(store->process, o->library);
	if (rc == 0 && !s->client)
		rc = store_start(store, s, err);
	if (rc < 0)
		return rc;
	s->library = s->client->library;
	rc = store_class(store, &s->library, "object_class", o->object_class, &s->object_class,
			 err);
	if (rc == 0)
		rc = store_class(store, &s->library, "folder_class", o->folder_class,
				 &s->folder_class, err);
	return rc;
}

static void store_close_all(void *from)
{
	struct dfs_store *s = from;

	dfs_cache_close(&s->files);
	dfs_folders_close(&s->folders);
	if (s->mount)
		s->library.dfs_disconnect(s->mount);
	if (s->owns)
		dfs_client_end(s->client, s->log);
}

/* Closing a connection asks servers, which may not answer. */
#define STORE_CLOSE_NS UINT64_C(5000000000)

static void store_end(const struct store *store, struct dfs_store *s)
{
	struct dfs_patience patience = {.stop = store->stop, .limit_ns = STORE_CLOSE_NS};

	if (!atomic_load(&s->left) && dfs_aside_do(&patience, store_close_all, free, s)) {
		free(s);
		return;
	}
	log_say(store->log, LOG_WARNING,
		"%s: DAOS does not answer: its connection is left to end with this process",
		store->uri);
}

/* The other ranks wait for this one, whatever has become of it. */
static int store_open_nothing(const struct store *store, struct err *err)
{
	struct dfs_store none = {0};

	return dfs_connection_open(store, &none,
				   err_set(err, -ENOMEM, "no memory for %s", store->uri), err);
}

static int dfs_store_open(struct store *store, struct err *err)
{
	const struct dfs_options *o = dfs_options_of(store);
	struct dfs_store *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return store_open_nothing(store, err);
	rc = store_begin(store, s, err);
	rc = dfs_connection_open(store, s, rc, err);
	if (rc == 0 && dfs_folders_open(&s->folders, (uint32_t)o->folders, &s->library, s->mount,
					s->read_only, s->folder_class) < 0)
		rc = err_set(err, -ENOMEM, "no memory for %s", store->uri);
	if (rc == 0 &&
	    dfs_cache_open(&s->files, store->constant ? (uint32_t)o->handles : 0, &s->library) < 0)
		rc = err_set(err, -ENOMEM, "no memory for %s", store->uri);
	if (rc < 0) {
		store_end(store, s);
		return rc;
	}
	store->state = s;
	store->retry = &o->retry;
	return 0;
}

static void dfs_store_close(struct store *store)
{
	store_end(store, store->state);
}

/* A probe of the machine waits no longer for the agent. */
#define STORE_PROBE_NS UINT64_C(5000000000)

static void start_drop(void *from)
{
	free(((struct store_start *)from)->s);
	free(from);
}

/* Whether the client starts, for which the agent must answer. */
static int dfs_answers(struct err *err)
{
	struct dfs_patience patience = {.limit_ns = STORE_PROBE_NS};
	struct store_start *start = calloc(1, sizeof(*start));
	struct dfs_store *s = calloc(1, sizeof(*s));
	struct store_process process = {0};
	int rc;

	if (!start || !s) {
		free(start);
		free(s);
		return err_set(err, -ENOMEM, "daos://: no memory");
	}
	start->s = s;
	strcpy(start->uri, "daos://");
	if (!dfs_aside_do(&patience, start_client, start_drop, start))
		return err_set(
			err, -ETIMEDOUT,
			"daos://: DAOS does not answer within 5 s; is daos_agent running, and are "
			"engines up (dmg system query)?");
	rc = start->rc;
	if (rc < 0) {
		*err = start->err;
	} else {
		dfs_client_keep(&process, s->client);
		backends_process_end(&process);
	}
	start_drop(start);
	return rc;
}

static int dfs_find_library(char found[BACKEND_LIBRARY_BYTES], struct err *err)
{
	struct dfs_library l;
	int rc = dfs_library_open(&l, "", err);

	if (rc < 0)
		return rc;
	if (l.product[0])
		snprintf(found, BACKEND_LIBRARY_BYTES,
			 "libdfs of DAOS %s, client interface %d.%d.%d", l.product, l.major,
			 l.minor, l.fix);
	else
		snprintf(found, BACKEND_LIBRARY_BYTES, "libdfs, client interface %d.%d.%d of DAOS",
			 l.major, l.minor, l.fix);
	dfs_library_close(&l);
	return 0;
}

static uint32_t dfs_in_flight(const void *options)
{
	const struct dfs_options *o = options;

	return (uint32_t)o->in_flight;
}

static uint64_t dfs_part(const void *options, uint64_t length)
{
	const struct dfs_options *o = options;

	(void)length;
	if (o->part_bytes)
		return o->part_bytes;
	return o->common.transfer ? o->common.transfer : DFS_TRANSFER;
}

#define DFS_HELP "a POSIX container of DAOS, by its client library libdfs"

const struct backend_ops dfs_backend = {
	.scheme = "daos",
	.help = DFS_HELP,
	.section =
		{
			.name = "daos",
			.help = DFS_HELP,
			.tables = {store_common_options, dfs_option_table},
			.size = sizeof(struct dfs_options),
			.owner = &dfs_backend,
		},
	.look_at = " (dmg system query, and that daos_agent runs)",
	.capabilities = BACKEND_CONTENT | BACKEND_RANGES | BACKEND_ATOMIC_COMMIT |
			BACKEND_PERSISTENT | BACKEND_MANY_NODES | BACKEND_MISSING_IS_ERROR |
			BACKEND_DEPTH | BACKEND_RENAME | BACKEND_LIST | BACKEND_UPDATE |
			BACKEND_SHARED | BACKEND_LIST_PARTS | BACKEND_WRITES,
	.transfer = DFS_TRANSFER,
	.depth_max = QUEUE_DEPTH_MAX,
	.part = dfs_part,
	.in_flight = dfs_in_flight,
	.check = dfs_check,
	.library = dfs_find_library,
	.answers = dfs_answers,
	.open = dfs_store_open,
	.close = dfs_store_close,
	.space = dfs_space,
	.describe = dfs_describe,
	.channel_open = dfs_channel_open,
	.channel_close = dfs_channel_close,
	.submit = dfs_submit,
	.reap = dfs_reap,
};
