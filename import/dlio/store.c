/* Stores of a DLIO workload: see store.h. */
#include "import/dlio/store.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { URI_ROOM = 1024 };
#define STORAGE "storage."
#define OPTIONS "storage.storage_options."

/* The path that the text gives, of two where the versions of DLIO keep the same value. */
static const char *store_either(const char *one, const char *other, struct dlio *d)
{
	return dlio_at(d, one) ? one : other;
}

/* The scheme of an object store: s3 where the text gives none. */
static int store_object_scheme(struct dlio *d, const char **scheme)
{
	static const char *const schemes[] = {"s3", "az", "gs", "file", "direct", NULL};
	const char *wanted = dlio_text(d, OPTIONS "uri_scheme");

	*scheme = *wanted ? wanted : "s3";
	for (unsigned i = 0; schemes[i]; i++)
		if (strcmp(schemes[i], *scheme) == 0)
			return 0;
	return err_set(d->err, -EINVAL,
		       OPTIONS "uri_scheme: must be s3, az, gs, file or direct, is \"%.32s\"",
		       wanted);
}

static const char *store_library(struct dlio *d)
{
	return store_either(STORAGE "storage_library", OPTIONS "storage_library", d);
}

static int store_scheme(struct dlio *d, const char **scheme)
{
	const char *type = dlio_text(d, STORAGE "storage_type");
	const char *library = dlio_text(d, store_library(d));
	bool object = strcmp(type, "s3") == 0 || strcmp(type, "s3dlio") == 0 ||
		      strcmp(type, "aistore") == 0;
	bool direct = strcmp(type, "direct_fs") == 0 || (!object && strcmp(library, "direct") == 0);
	int rc = 0;

	*scheme = direct ? "direct" : "file";
	if (strcmp(type, "parallel_fs") == 0)
		rc = dlio_find(d, IMPORT_CHANGED, STORAGE "storage_type",
			       "DLIO refuses it; haul takes it for a file system");
	if (rc == 0 && strcmp(type, "aistore") == 0)
		rc = dlio_find(
			d, IMPORT_CHANGED, STORAGE "storage_type",
			"haul reads through AIStore's S3 interface: name it in \"endpoints\"");
	if (rc < 0 || strcmp(type, "local_fs") == 0 || strcmp(type, "parallel_fs") == 0 ||
	    strcmp(type, "direct_fs") == 0)
		return rc;
	if (object)
		return store_object_scheme(d, scheme);
	return err_set(d->err, -EINVAL,
		       STORAGE
		       "storage_type: must be local_fs, direct_fs, s3 or aistore, is \"%.32s\"",
		       type);
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

static int store_uri(struct dlio *d, char uri[URI_ROOM])
{
	const char *root = dlio_text(d, STORAGE "storage_root");
	const char *folder = dlio_text(d, "dataset.data_folder"), *scheme = "";
	char base[URI_ROOM], below[URI_ROOM], path[URI_ROOM];
	int rc = store_scheme(d, &scheme);

	if (rc < 0)
		return rc;
	if (strlen(root) + strlen(folder) + 32 > URI_ROOM)
		return err_set(d->err, -EINVAL,
			       STORAGE
			       "storage_root: it is too long, together with dataset.data_folder");
	path_trim(root, base);
	path_trim(folder, below);
	if (strstr(folder, "://")) {
		snprintf(uri, URI_ROOM, "%s", below);
	} else if (strstr(root, "://")) {
		path_join(base, below, uri);
	} else if (strcmp(scheme, "file") == 0 || strcmp(scheme, "direct") == 0) {
		/* As Python's os.path.join: an absolute folder ignores the root. */
		path_join(*below == '/' ? "" : base, below, path);
		snprintf(uri, URI_ROOM, "%.16s://%s%.990s", scheme, *path == '/' ? "" : "./", path);
	} else {
		path_join(base, below + strspn(below, "/"), path);
		snprintf(uri, URI_ROOM, "%.16s://%.990s", scheme, path);
	}
	return 0;
}

static int store_add_endpoints(struct dlio *d, cJSON *store)
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
		return dlio_no_memory(d);
	}
	if (dlio_bool(d, by_rank)) {
		cJSON_AddStringToObject(store, "balance", "rank");
		return 0;
	}
	if (strcmp(dlio_text(d, strategy), "round_robin") == 0)
		cJSON_AddStringToObject(store, "balance", "round_robin");
	else if (strcmp(dlio_text(d, strategy), "least_connections") == 0)
		cJSON_AddStringToObject(store, "balance", "least_loaded");
	else if (*dlio_text(d, strategy))
		return dlio_find(d, IMPORT_LEFT, strategy,
				 "haul knows round_robin and least_connections");
	return 0;
}

static int store_add_object_options(struct dlio *d, cJSON *store, const char *uri)
{
	const char *path_style;
	int rc = store_add_endpoints(d, store);

	if (rc < 0)
		return rc;
	if (dlio_at(d, OPTIONS "s3_max_attempts"))
		cJSON_AddNumberToObject(cJSON_AddObjectToObject(store, "retry"), "attempts",
					dlio_number(d, OPTIONS "s3_max_attempts"));
	if (strncmp(uri, "s3:", 3) != 0)
		return 0;
	path_style = store_either(STORAGE "s3_force_path_style", OPTIONS "s3_force_path_style", d);
	if (*dlio_text(d, OPTIONS "region"))
		cJSON_AddStringToObject(store, "region", dlio_text(d, OPTIONS "region"));
	if (*dlio_text(d, OPTIONS "s3_profile"))
		cJSON_AddStringToObject(store, "profile", dlio_text(d, OPTIONS "s3_profile"));
	if (dlio_bool(d, path_style))
		cJSON_AddStringToObject(store, "addressing", "path");
	return 0;
}

static void store_add_file_options(struct dlio *d, cJSON *store, const char *uri)
{
	if (dlio_bool(d, "reader.odirect") && strncmp(uri, "file:", 5) == 0)
		cJSON_AddTrueToObject(store, "direct");
}

/* The client library whose pattern of requests haul imitates. */
static int store_add_client(struct dlio *d, cJSON *store, const char *uri)
{
	static const char *const known[] = {"s3dlio", "s3torchconnector", "minio", NULL};
	const char *library = dlio_text(d, store_library(d));

	if (!*library || strcmp(library, "direct") == 0)
		return 0;
	for (unsigned i = 0; strncmp(uri, "s3:", 3) == 0 && known[i]; i++)
		if (strcmp(library, known[i]) == 0)
			return cJSON_AddStringToObject(store, "client", library)
				       ? 0
				       : dlio_no_memory(d);
	return dlio_find(d, IMPORT_LEFT, store_library(d),
			 "haul imitates no such client for this store");
}

static bool store_is_local(const char *uri)
{
	return strncmp(uri, "file:", 5) == 0 || strncmp(uri, "direct:", 7) == 0;
}

static int store_add_data(struct dlio *d, cJSON *stores)
{
	cJSON *store = cJSON_AddObjectToObject(stores, "data");
	char uri[URI_ROOM];
	int rc = store_uri(d, uri);

	if (rc < 0)
		return rc;
	if (!store)
		return dlio_no_memory(d);
	if (d->synthetic) {
		cJSON_AddStringToObject(store, "uri", "null://dlio");
		return dlio_find(d, IMPORT_CHANGED, STORAGE "storage_root",
				 "a synthetic loader reads nothing, so the store is null://");
	}
	cJSON_AddStringToObject(store, "uri", uri);
	if (!d->streams && dlio_number(d, "reader.transfer_size") > 0)
		cJSON_AddNumberToObject(store, "transfer", dlio_number(d, "reader.transfer_size"));
	if (store_is_local(uri))
		store_add_file_options(d, store, uri);
	else
		rc = store_add_object_options(d, store, uri);
	return rc < 0 ? rc : store_add_client(d, store, uri);
}

/* DLIO takes the folder as it is, without storage_root; on an object store it begins with the bucket. */
static int store_checkpoint_uri(struct dlio *d, char uri[URI_ROOM])
{
	const char *folder = dlio_text(d, "checkpoint.checkpoint_folder"), *scheme = "";
	char path[URI_ROOM];
	int rc = store_scheme(d, &scheme);

	if (rc < 0)
		return rc;
	if (strlen(folder) + 32 > URI_ROOM)
		return err_set(d->err, -EINVAL, "checkpoint.checkpoint_folder: it is too long");
	path_trim(folder, path);
	if (strstr(folder, "://"))
		snprintf(uri, URI_ROOM, "%s", path);
	else if (strcmp(scheme, "file") == 0 || strcmp(scheme, "direct") == 0)
		snprintf(uri, URI_ROOM, "%.16s://%s%.990s", scheme, *path == '/' ? "" : "./", path);
	else
		snprintf(uri, URI_ROOM, "%.16s://%.990s", scheme, path + strspn(path, "/"));
	return 0;
}

static int store_add_fsync(struct dlio *d, cJSON *store, const char *uri)
{
	static const char key[] = "checkpoint.fsync";

	if (!dlio_bool(d, key))
		return 0;
	if (!store_is_local(uri))
		return dlio_find(d, IMPORT_LEFT, key,
				 "an object is durable when the store has published it");
	if (d->as == IMPORT_AS_DLIO_BUGS)
		return dlio_find(d, IMPORT_CHANGED, key, "as DLIO does: it never calls fsync");
	cJSON_AddStringToObject(store, "fsync", "file");
	return dlio_find(d, IMPORT_CHANGED, key,
			 "DLIO never calls fsync, because its code misspells the name; haul does");
}

static int store_add_checkpoints(struct dlio *d, cJSON *stores)
{
	cJSON *store = cJSON_AddObjectToObject(stores, "checkpoints");
	char uri[URI_ROOM];
	int rc = store_checkpoint_uri(d, uri);

	if (rc < 0)
		return rc;
	if (!store || !cJSON_AddStringToObject(store, "uri", uri))
		return dlio_no_memory(d);
	rc = store_add_fsync(d, store, uri);
	if (rc < 0 || store_is_local(uri))
		return rc;
	rc = store_add_object_options(d, store, uri);
	return rc < 0 ? rc : store_add_client(d, store, uri);
}

int dlio_add_stores(struct dlio *d, struct cJSON *job)
{
	cJSON *stores = cJSON_AddObjectToObject(job, "stores");
	int rc = dlio_uses_data(d) ? store_add_data(d, stores) : 0;

	return rc == 0 && (d->checkpoints || d->saves) ? store_add_checkpoints(d, stores) : rc;
}
