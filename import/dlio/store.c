/* Where the data are: storage_type, storage_root and data_folder as one URI, and what a store has
 * beside. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "import/dlio/dlio.h"

enum { URI_ROOM = 1024 };
#define STORAGE "storage."
#define OPTIONS "storage.storage_options."

static int no_memory(const struct dlio *d)
{
	return err_set(d->err, -ENOMEM, "no memory for the job");
}

/* A value that the versions of DLIO keep in two places. */
static const char *in_either(const char *one, const char *other, struct dlio *d)
{
	return dlio_at(d, one) ? one : other;
}

/* The scheme of an object store: s3 where nothing else is said. */
static int object_scheme(struct dlio *d, const char **scheme)
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

static const char *library_of(struct dlio *d)
{
	return in_either(STORAGE "storage_library", OPTIONS "storage_library", d);
}

static int find_scheme(struct dlio *d, const char **scheme)
{
	const char *type = dlio_text(d, STORAGE "storage_type");
	const char *library = dlio_text(d, library_of(d));
	bool object = strcmp(type, "s3") == 0 || strcmp(type, "s3dlio") == 0 ||
		      strcmp(type, "aistore") == 0;
	bool direct = strcmp(type, "direct_fs") == 0 || (!object && strcmp(library, "direct") == 0);
	int rc = 0;

	*scheme = direct ? "direct" : "file";
	if (strcmp(type, "parallel_fs") == 0)
		rc = dlio_find(d, IMPORT_CHANGED, STORAGE "storage_type",
			       "DLIO refuses it; taken for a file system");
	if (rc == 0 && strcmp(type, "aistore") == 0)
		rc = dlio_find(d, IMPORT_CHANGED, STORAGE "storage_type",
			       "read through AIStore's S3 interface: \"endpoints\" is to name it");
	if (rc < 0 || strcmp(type, "local_fs") == 0 || strcmp(type, "parallel_fs") == 0 ||
	    strcmp(type, "direct_fs") == 0)
		return rc;
	if (object)
		return object_scheme(d, scheme);
	return err_set(d->err, -EINVAL,
		       STORAGE
		       "storage_type: must be local_fs, direct_fs, s3 or aistore, is \"%.32s\"",
		       type);
}

/* Without "./" before and "/" behind; "." and "./" are nothing. */
static void trim(const char *text, char out[URI_ROOM])
{
	size_t n;

	while (strncmp(text, "./", 2) == 0)
		text += 2 + strspn(text + 2, "/");
	snprintf(out, URI_ROOM, "%s", strcmp(text, ".") == 0 ? "" : text);
	n = strlen(out);
	while (n > 1 && out[n - 1] == '/')
		out[--n] = '\0';
}

static void join(const char *before, const char *after, char out[URI_ROOM])
{
	size_t n = strlen(before);
	bool slash = n && before[n - 1] != '/' && *after;

	snprintf(out, URI_ROOM, "%s%s%s", before, slash ? "/" : "", after);
}

static int find_uri(struct dlio *d, char uri[URI_ROOM])
{
	const char *root = dlio_text(d, STORAGE "storage_root");
	const char *folder = dlio_text(d, "dataset.data_folder"), *scheme = "";
	char base[URI_ROOM], below[URI_ROOM], path[URI_ROOM];
	int rc = find_scheme(d, &scheme);

	if (rc < 0)
		return rc;
	if (strlen(root) + strlen(folder) + 32 > URI_ROOM)
		return err_set(d->err, -EINVAL, STORAGE "storage_root: is too long");
	trim(root, base);
	trim(folder, below);
	if (strstr(folder, "://")) {
		snprintf(uri, URI_ROOM, "%s", below);
	} else if (strstr(root, "://")) {
		join(base, below, uri);
	} else if (strcmp(scheme, "file") == 0 || strcmp(scheme, "direct") == 0) {
		/* As os.path.join: an absolute path stands for itself. */
		join(*below == '/' ? "" : base, below, path);
		snprintf(uri, URI_ROOM, "%.16s://%s%.990s", scheme, *path == '/' ? "" : "./", path);
	} else {
		join(base, below + strspn(below, "/"), path);
		snprintf(uri, URI_ROOM, "%.16s://%.990s", scheme, path);
	}
	return 0;
}

static int add_endpoints(struct dlio *d, cJSON *store)
{
	const cJSON *uris =
		dlio_at(d, in_either(STORAGE "endpoint_uris", OPTIONS "endpoint_uris", d));
	const char *strategy =
		in_either(STORAGE "load_balance_strategy", OPTIONS "load_balance_strategy", d);
	const char *by_rank = in_either(STORAGE "use_mpi_endpoint_distribution",
					OPTIONS "use_mpi_endpoint_distribution", d);
	cJSON *copy = cJSON_Duplicate(uris ? uris : dlio_at(d, OPTIONS "endpoint_url"), true);

	if (copy && !cJSON_AddItemToObject(store, "endpoints", copy)) {
		cJSON_Delete(copy);
		return no_memory(d);
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
				 "known are round_robin and least_connections");
	return 0;
}

static int add_object_options(struct dlio *d, cJSON *store, const char *uri)
{
	const char *path_style;
	int rc = add_endpoints(d, store);

	if (rc < 0)
		return rc;
	if (dlio_at(d, OPTIONS "s3_max_attempts"))
		cJSON_AddNumberToObject(cJSON_AddObjectToObject(store, "retry"), "attempts",
					dlio_number(d, OPTIONS "s3_max_attempts"));
	if (strncmp(uri, "s3:", 3) != 0)
		return 0;
	path_style = in_either(STORAGE "s3_force_path_style", OPTIONS "s3_force_path_style", d);
	if (*dlio_text(d, OPTIONS "region"))
		cJSON_AddStringToObject(store, "region", dlio_text(d, OPTIONS "region"));
	if (*dlio_text(d, OPTIONS "s3_profile"))
		cJSON_AddStringToObject(store, "profile", dlio_text(d, OPTIONS "s3_profile"));
	if (dlio_bool(d, path_style))
		cJSON_AddStringToObject(store, "addressing", "path");
	return 0;
}

static void add_file_options(struct dlio *d, cJSON *store, const char *uri)
{
	if (dlio_bool(d, "reader.odirect") && strncmp(uri, "file:", 5) == 0)
		cJSON_AddTrueToObject(store, "direct");
}

/* The client whose habits on the wire haul takes on. */
static int add_client(struct dlio *d, cJSON *store, const char *uri)
{
	static const char *const known[] = {"s3dlio", "s3torchconnector", "minio", NULL};
	const char *library = dlio_text(d, library_of(d));

	if (!*library || strcmp(library, "direct") == 0)
		return 0;
	for (unsigned i = 0; strncmp(uri, "s3:", 3) == 0 && known[i]; i++)
		if (strcmp(library, known[i]) == 0)
			return cJSON_AddStringToObject(store, "client", library) ? 0 : no_memory(d);
	return dlio_find(d, IMPORT_LEFT, library_of(d), "haul has no such client for this store");
}

int dlio_add_store(struct dlio *d, struct cJSON *job)
{
	cJSON *store = cJSON_AddObjectToObject(cJSON_AddObjectToObject(job, "stores"), "data");
	char uri[URI_ROOM];
	bool local;
	int rc = find_uri(d, uri);

	if (rc < 0)
		return rc;
	if (!store)
		return no_memory(d);
	if (d->synthetic) {
		cJSON_AddStringToObject(store, "uri", "null://dlio");
		return dlio_find(d, IMPORT_CHANGED, STORAGE "storage_root",
				 "a synthetic loader reads nothing: the store is null://");
	}
	local = strncmp(uri, "file:", 5) == 0 || strncmp(uri, "direct:", 7) == 0;
	cJSON_AddStringToObject(store, "uri", uri);
	if (!d->streams && dlio_number(d, "reader.transfer_size") > 0)
		cJSON_AddNumberToObject(store, "transfer", dlio_number(d, "reader.transfer_size"));
	if (local)
		add_file_options(d, store, uri);
	else
		rc = add_object_options(d, store, uri);
	return rc < 0 ? rc : add_client(d, store, uri);
}
