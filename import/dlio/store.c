/* SPDX-License-Identifier: Apache-2.0 */
/* Stores of a DLIO workload. */
#include "import/dlio/parts.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"

enum { URI_ROOM = 1024 };
#define STORAGE "storage."
#define OPTIONS "storage.storage_options."

/* The path that the text gives, of two where the versions of DLIO keep the same value. */
static const char *store_either(const char *one, const char *other, struct dlio *d)
{
	return dlio_at(d, one) ? one : other;
}

static bool store_is_type(struct dlio *d, const char *type)
{
	return strcmp(dlio_text(d, STORAGE "storage_type"), type) == 0;
}

/* The scheme of an object store: s3 where the text gives none. */
static const char *store_object_scheme(struct dlio *d)
{
	static const char *const schemes[][2] = {
		{"s3", "s3"},   {"az", "az"},     {"azure", "az"},
		{"abfs", "az"}, {"abfss", "az"},  {"gs", "gs"},
		{"gcs", "gs"},  {"file", "file"}, {"direct", "direct"},
	};
	const char *wanted = dlio_text(d, OPTIONS "uri_scheme");

	if (!*wanted)
		return store_is_type(d, "adls_gen2") ? "az" : "s3";
	for (unsigned i = 0; i < COUNT(schemes); i++)
		if (strcmp(schemes[i][0], wanted) == 0)
			return schemes[i][1];
	dlio_refuse(d, OPTIONS "uri_scheme: must be s3, az, abfs, gs, file or direct, is \"%.32s\"",
		    wanted);
	return wanted;
}

static const char *store_library(struct dlio *d)
{
	return store_either(STORAGE "storage_library", OPTIONS "storage_library", d);
}

static const char *store_scheme(struct dlio *d)
{
	static const char *const objects[] = {"s3", "s3dlio", "aistore", "adls_gen2"};
	const char *type = dlio_text(d, STORAGE "storage_type");
	const char *library = dlio_text(d, store_library(d));
	bool object = false, direct;

	for (unsigned i = 0; i < COUNT(objects); i++)
		object |= strcmp(type, objects[i]) == 0;
	direct = strcmp(type, "direct_fs") == 0 || (!object && strcmp(library, "direct") == 0);
	if (d->daos)
		return "daos";
	if (strcmp(type, "parallel_fs") == 0)
		dlio_found(d, IMPORT_CHANGED, STORAGE "storage_type",
			   "DLIO refuses it; haul takes it for a file system");
	else if (strcmp(type, "aistore") == 0)
		dlio_found(d, IMPORT_CHANGED, STORAGE "storage_type",
			   "haul reads through AIStore's S3 interface: name it in \"endpoints\"");
	else if (!object && strcmp(type, "local_fs") != 0 && strcmp(type, "direct_fs") != 0)
		dlio_refuse(d,
			    STORAGE "storage_type: must be local_fs, direct_fs, s3, aistore, "
				    "adls_gen2 or daos_pytorch, is \"%.32s\"",
			    type);
	if (object)
		return store_object_scheme(d);
	return direct ? "direct" : "file";
}

/* Copies text without "./" at its beginning and "/" at its end; "." and "./" become "". */
static void path_trim(const char *text, char out[URI_ROOM])
{
	size_t n;

	while (strncmp(text, "./", 2) == 0)
		text += 2 + strspn(text + 2, "/");
	snprintf(out, URI_ROOM, "%s", strcmp(text, ".") == 0 ? "" : text);
	n = strlen(out);
	while (n > 1 && out[n - 1] == '/')
		out[--n] = '\0';
}

static void path_join(const char *before, const char *after, char out[URI_ROOM])
{
	size_t n = strlen(before);
	bool slash = n && before[n - 1] != '/' && *after;

	snprintf(out, URI_ROOM, "%s%s%s", before, slash ? "/" : "", after);
}

static bool scheme_of_files(const char *scheme)
{
	return strcmp(scheme, "file") == 0 || strcmp(scheme, "direct") == 0;
}

/* The URI of a path: on a file system it begins with "/" or "./", on an object store with the
 * bucket. */
static void store_path_uri(const char *scheme, const char *path, char uri[URI_ROOM])
{
	snprintf(uri, URI_ROOM, "%.16s://%s%.990s", scheme,
		 scheme_of_files(scheme) && *path != '/' ? "./" : "", path);
}

/* Azure as Hadoop writes it, container@account.dfs.core.windows.net/path: haul has the account
 * first. */
static void store_azure_uri(struct dlio *d, const char *path, char uri[URI_ROOM])
{
	char container[URI_ROOM], account[URI_ROOM];
	const char *rest = strstr(uri, "://"), *at, *host;
	size_t n = rest ? (size_t)(rest - uri) : 0;

	if (!n || (strncmp(uri, "abfs", n) != 0 && strncmp(uri, "abfss", n) != 0 &&
		   strncmp(uri, "az", n) != 0))
		return;
	rest += 3;
	at = rest + strcspn(rest, "@/");
	if (*at != '@') {
		if (uri[1] == 'b')
			dlio_refuse(d,
				    "%s: names no account; write it as "
				    "abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH",
				    path);
		return;
	}
	host = at + 1;
	snprintf(container, sizeof(container), "%.*s%s", (int)(at - rest), rest,
		 host + strcspn(host, "/"));
	snprintf(account, sizeof(account), "%.*s", (int)strcspn(host, "./"), host);
	snprintf(uri, URI_ROOM, "az://%.60s/%.950s", account, container);
	dlio_found(d, IMPORT_CHANGED, path,
		   "haul reaches the account \"%.60s\" by its blob interface", account);
}

/* A folder of a container of DAOS. */
static void store_daos_uri(struct dlio *d, const char *pool_path, const char *container_path,
			   const char *folder, char uri[URI_ROOM])
{
	const char *pool = dlio_text(d, pool_path), *container = dlio_text(d, container_path);

	if (!*pool || !*container)
		dlio_refuse(d,
			    "%s: is missing: a place in DAOS is named by pool and container; "
			    "give it as an override",
			    *pool ? container_path : pool_path);
	if (strlen(pool) + strlen(container) + strlen(folder) + 32 > URI_ROOM)
		dlio_refuse(d, "%s: is too long", pool_path);
	snprintf(uri, URI_ROOM, "daos://%.200s/%.200s%s%.500s", pool, container,
		 *folder && *folder != '/' ? "/" : "", folder);
}

static void store_uri(struct dlio *d, char uri[URI_ROOM])
{
	const char *root = dlio_text(d, STORAGE "storage_root");
	const char *folder = dlio_text(d, "dataset.data_folder"), *scheme = store_scheme(d);
	bool files = scheme_of_files(scheme);
	char base[URI_ROOM], below[URI_ROOM], path[URI_ROOM];

	if (strlen(root) + strlen(folder) + 32 > URI_ROOM)
		dlio_refuse(d, STORAGE "storage_root: it is too long, together with "
				       "dataset.data_folder");
	path_trim(root, base);
	path_trim(folder, below);
	if (d->daos) {
		path_join(*below == '/' ? "" : base, below, path);
		store_daos_uri(d, "dataset.daos_pool", "dataset.daos_cont", path, uri);
	} else if (strstr(folder, "://")) {
		snprintf(uri, URI_ROOM, "%s", below);
	} else if (strstr(root, "://")) {
		path_join(base, below, uri);
	} else {
		/* As Python's os.path.join: an absolute folder ignores the root. */
		path_join(files && *below == '/' ? "" : base,
			  files ? below : below + strspn(below, "/"), path);
		store_path_uri(scheme, path, uri);
	}
	store_azure_uri(d, strstr(folder, "://") ? "dataset.data_folder" : STORAGE "storage_root",
			uri);
}

static void store_add_endpoints(struct dlio *d, cJSON *store)
{
	const cJSON *uris =
		dlio_at(d, store_either(STORAGE "endpoint_uris", OPTIONS "endpoint_uris", d));
	const char *strategy =
		store_either(STORAGE "load_balance_strategy", OPTIONS "load_balance_strategy", d);
	const char *by_rank = store_either(STORAGE "use_mpi_endpoint_distribution",
					   OPTIONS "use_mpi_endpoint_distribution", d);
	cJSON *copy = cJSON_Duplicate(uris ? uris : dlio_at(d, OPTIONS "endpoint_url"), true);

	if (copy && !cJSON_AddItemToObject(store, "endpoints", copy)) {
		cJSON_Delete(copy);
		dlio_no_memory(d);
	}
	if (dlio_bool(d, by_rank))
		cJSON_AddStringToObject(store, "balance", "rank");
	else if (strcmp(dlio_text(d, strategy), "round_robin") == 0)
		cJSON_AddStringToObject(store, "balance", "round_robin");
	else if (strcmp(dlio_text(d, strategy), "least_connections") == 0)
		cJSON_AddStringToObject(store, "balance", "least_loaded");
	else if (*dlio_text(d, strategy))
		dlio_found(d, IMPORT_LEFT, strategy,
			   "haul knows round_robin and least_connections");
}

static void store_add_object_options(struct dlio *d, cJSON *store, const char *uri)
{
	const char *path_style;

	store_add_endpoints(d, store);
	if (dlio_at(d, OPTIONS "s3_max_attempts"))
		cJSON_AddNumberToObject(cJSON_AddObjectToObject(store, "retry"), "attempts",
					dlio_number(d, OPTIONS "s3_max_attempts"));
	if (strncmp(uri, "s3:", 3) != 0)
		return;
	path_style = store_either(STORAGE "s3_force_path_style", OPTIONS "s3_force_path_style", d);
	if (*dlio_text(d, OPTIONS "region"))
		cJSON_AddStringToObject(store, "region", dlio_text(d, OPTIONS "region"));
	if (*dlio_text(d, OPTIONS "s3_profile"))
		cJSON_AddStringToObject(store, "profile", dlio_text(d, OPTIONS "s3_profile"));
	if (dlio_bool(d, path_style))
		cJSON_AddStringToObject(store, "addressing", "path");
}

/* The client library whose pattern of requests haul imitates. */
static void store_add_client(struct dlio *d, cJSON *store, const char *uri)
{
	static const char *const known[] = {"s3dlio", "s3torchconnector", "minio"};
	const char *library = dlio_text(d, store_library(d));

	if (strncmp(uri, "daos:", 5) == 0)
		dlio_add_text(d, store, "client", "pydaos");
	if (!*library || strcmp(library, "direct") == 0)
		return;
	for (unsigned i = 0; strncmp(uri, "s3:", 3) == 0 && i < COUNT(known); i++)
		if (strcmp(library, known[i]) == 0) {
			dlio_add_text(d, store, "client", library);
			return;
		}
	dlio_found(d, IMPORT_LEFT, store_library(d), "haul imitates no such client for this store");
}

static bool store_is_object(const char *uri)
{
	return strncmp(uri, "s3:", 3) == 0 || strncmp(uri, "az:", 3) == 0 ||
	       strncmp(uri, "gs:", 3) == 0;
}

static bool store_is_local(const char *uri)
{
	return strncmp(uri, "file:", 5) == 0 || strncmp(uri, "direct:", 7) == 0;
}

static void store_add_data(struct dlio *d, cJSON *stores)
{
	cJSON *store = cJSON_AddObjectToObject(stores, "data");
	char uri[URI_ROOM];

	store_uri(d, uri);
	if (d->synthetic) {
		dlio_add_text(d, store, "uri", "null://dlio");
		dlio_found(d, IMPORT_CHANGED, STORAGE "storage_root",
			   "a synthetic loader reads nothing, so the store is null://");
		return;
	}
	dlio_add_text(d, store, "uri", uri);
	if (!d->streams && dlio_number(d, "reader.transfer_size") > 0)
		cJSON_AddNumberToObject(store, "transfer", dlio_number(d, "reader.transfer_size"));
	if (store_is_object(uri))
		store_add_object_options(d, store, uri);
	else if (dlio_bool(d, "reader.odirect") && strncmp(uri, "file:", 5) == 0)
		cJSON_AddTrueToObject(store, "direct");
	store_add_client(d, store, uri);
}

/* DLIO takes the folder as it is, without storage_root; on an object store it begins with the
 * bucket. */
static void store_checkpoint_uri(struct dlio *d, char uri[URI_ROOM])
{
	static const char pool[] = "checkpoint.checkpoint_daos_pool";
	const char *folder = dlio_text(d, "checkpoint.checkpoint_folder"),
		   *scheme = store_scheme(d);
	bool own = *dlio_text(d, pool);
	char path[URI_ROOM];

	if (strlen(folder) + 32 > URI_ROOM)
		dlio_refuse(d, "checkpoint.checkpoint_folder: it is too long");
	path_trim(folder, path);
	if (own)
		store_daos_uri(d, pool, "checkpoint.checkpoint_daos_cont", path, uri);
	else if (strstr(folder, "://"))
		snprintf(uri, URI_ROOM, "%s", path);
	else if (d->daos)
		store_daos_uri(d, "dataset.daos_pool", "dataset.daos_cont", path, uri);
	else
		store_path_uri(scheme, scheme_of_files(scheme) ? path : path + strspn(path, "/"),
			       uri);
	store_azure_uri(d, "checkpoint.checkpoint_folder", uri);
}

static void store_add_fsync(struct dlio *d, cJSON *store, const char *uri)
{
	static const char key[] = "checkpoint.fsync";
	bool as_dlio = d->as == IMPORT_AS_DLIO_BUGS;

	if (!dlio_bool(d, key))
		return;
	if (!store_is_local(uri)) {
		dlio_found(d, IMPORT_LEFT, key,
			   "an object is durable when the store has published it");
		return;
	}
	if (!as_dlio)
		cJSON_AddStringToObject(store, "fsync", "file");
	dlio_found(
		d, IMPORT_CHANGED, key,
		as_dlio ? "as DLIO does: it never calls fsync"
			: "DLIO never calls fsync, because its code misspells the name; haul does");
}

static void store_add_checkpoints(struct dlio *d, cJSON *stores)
{
	cJSON *store = cJSON_AddObjectToObject(stores, "checkpoints");
	char uri[URI_ROOM];

	store_checkpoint_uri(d, uri);
	dlio_add_text(d, store, "uri", uri);
	store_add_fsync(d, store, uri);
	if (store_is_object(uri))
		store_add_object_options(d, store, uri);
	if (!store_is_local(uri))
		store_add_client(d, store, uri);
}

void dlio_add_stores(struct dlio *d, struct cJSON *job)
{
	cJSON *stores = cJSON_AddObjectToObject(job, "stores");

	if (dlio_uses_data(d))
		store_add_data(d, stores);
	if (d->checkpoints || d->saves)
		store_add_checkpoints(d, stores);
}
