/* The store behind daos://pool/container/path: a POSIX container of DAOS, through libdfs, without
 * a mount. Options, those of other libraries among them, opening, and what is in effect.
 *
 * 	store.c ──► library.c     the library, opened at run time (abi.h says what it looks like)
 * 	        ──► connection.c  one connection for all ranks
 * 	channel.c                 reads and writes, by the event queue of a thread
 * 	opener.c ──► object.c     all other requests, by threads that wait for them
 * 	         ──► listing.c    a page of a folder
 * 	kept.c                    what the rank keeps open: folders, and files that are read
 * 	code.c                    codes of DAOS as errnos and sentences */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/dfs/channel.h"
#include "backends/dfs/code.h"
#include "backends/dfs/connection.h"
#include "backends/stores.h"
#include "core/units.h"

/* Client profiles: what other libraries do by default, as the options that make haul do the same.
 * docs/stores-daos.md has the same table, and what options cannot express. */
enum { DFS_CLIENT_DFS, DFS_CLIENT_PYDAOS };
static const char *const dfs_client_names[] = {
	[DFS_CLIENT_DFS] = "dfs",
	[DFS_CLIENT_PYDAOS] = "pydaos",
	NULL,
};

/* pydaos.torch of DAOS 2.8: a sample is opened and read by one request each time, and a checkpoint is written in chunks
 * by four processes. */
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

static void describe_add(struct store_facts *facts, const char *text)
{
	size_t n = strlen(facts->layout);

	snprintf(facts->layout + n, sizeof(facts->layout) - n, "%s%s", n ? "; " : "", text);
}

/* Servers of DAOS are engines, of which a machine may have several. */
static void describe_pool(const struct dfs_store *s, struct store_facts *facts)
{
	const struct dfs_library *l = &s->library;
	struct dfs_pool_info info = {.wanted = 0};
	char engines[UNITS_COUNTED_BYTES], targets[UNITS_COUNTED_BYTES], text[128], lost[48] = "";
	struct dfs_handle pool;

	if (!l->daos_pool_query || !l->dfs_pool_get || !l->dfs_pool_put ||
	    l->dfs_pool_get(s->mount, &pool))
		return;
	if (l->daos_pool_query(pool, NULL, &info, NULL, NULL) == 0) {
		if (info.disabled_targets)
			snprintf(lost, sizeof(lost), ", %u of them out of service",
				 info.disabled_targets);
		snprintf(text, sizeof(text), "%s with %s%s",
			 units_counted(engines, info.engines, "engine"),
			 units_counted(targets, info.targets, "target"), lost);
		describe_add(facts, text);
	}
	l->dfs_pool_put(s->mount, pool);
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
static void describe_layout(struct dfs_store *s, uint64_t asked, struct store_facts *facts)
{
	char class[DFS_CLASS_NAME_BYTES] = "", chunk[UNITS_TEXT_BYTES], redundancy[64], text[224];
	struct dfs_object_info info = {0};
	struct dfs_kept *folder;
	uint32_t id;

	/* A path that is not there yet will be made below the container's root. */
	if (dfs_folder_take(&s->folders, s->base[0] ? s->base : "/", false, &folder) &&
	    dfs_folder_take(&s->folders, "/", false, &folder))
		return;
	if (s->library.dfs_obj_get_info(s->mount, folder->object, &info) == 0) {
		id = s->object_class ? s->object_class : info.file_class;
		if (id)
			s->library.daos_oclass_id2name(id, class);
		describe_redundancy(class, redundancy);
		snprintf(text, sizeof(text), "new files: class %s%s, chunks of %s",
			 class[0] ? class : "unknown", redundancy,
			 units_bytes_binary(chunk, (double)(asked ? asked : info.chunk_bytes)));
		describe_add(facts, text);
	}
	dfs_folder_drop(&s->folders, folder);
}

static void dfs_describe(const struct store *store, struct store_facts *facts)
{
	struct dfs_store *s = dfs_store_of(store);

	snprintf(facts->engine, sizeof(facts->engine), "libdfs %d.%d.%d", s->library.major,
		 s->library.minor, s->library.fix);
	snprintf(facts->file_system, sizeof(facts->file_system), "DAOS");
	snprintf(facts->client, sizeof(facts->client), "%s",
		 dfs_client_names[dfs_options_of(store)->client]);
	describe_pool(s, facts);
	describe_layout(s, dfs_options_of(store)->chunk_bytes, facts);
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

/* All that a rank does by itself before the ranks connect. */
static int store_begin(const struct store *store, struct dfs_store *s, struct err *err)
{
	const struct dfs_options *o = dfs_options_of(store);
	int rc = store_base(store, s, err);

	if (rc == 0)
		rc = dfs_library_open(&s->library, o->library, err);
	if (rc < 0)
		return rc;
	rc = dfs_code_errno(s->library.dfs_init());
	if (rc < 0) {
		err_set(err, rc, "%s: the client of DAOS does not start: %s", store->uri,
			dfs_code_text(rc));
		dfs_library_close(&s->library);
		return rc;
	}
	rc = store_class(store, &s->library, "object_class", o->object_class, &s->object_class,
			 err);
	if (rc == 0)
		rc = store_class(store, &s->library, "folder_class", o->folder_class,
				 &s->folder_class, err);
	return rc;
}

static void store_end(struct dfs_store *s)
{
	if (s->library.dfs) {
		dfs_cache_close(&s->files);
		dfs_folders_close(&s->folders);
		if (s->mount)
			s->library.dfs_disconnect(s->mount);
		s->library.dfs_fini();
		dfs_library_close(&s->library);
	}
	free(s);
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
					s->folder_class) < 0)
		rc = err_set(err, -ENOMEM, "no memory for %s", store->uri);
	if (rc == 0 &&
	    dfs_cache_open(&s->files, store->constant ? (uint32_t)o->handles : 0, &s->library) < 0)
		rc = err_set(err, -ENOMEM, "no memory for %s", store->uri);
	if (rc < 0) {
		store_end(s);
		return rc;
	}
	store->state = s;
	store->retry = &o->retry;
	return 0;
}

static void dfs_store_close(struct store *store)
{
	store_end(store->state);
}

static int dfs_find_library(char found[BACKEND_LIBRARY_BYTES], struct err *err)
{
	struct dfs_library l;
	int rc = dfs_library_open(&l, "", err);

	if (rc < 0)
		return rc;
	snprintf(found, BACKEND_LIBRARY_BYTES, "libdfs, client interface %d.%d.%d of DAOS", l.major,
		 l.minor, l.fix);
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
	.open = dfs_store_open,
	.close = dfs_store_close,
	.describe = dfs_describe,
	.channel_open = dfs_channel_open,
	.channel_close = dfs_channel_close,
	.submit = dfs_submit,
	.reap = dfs_reap,
};
