/* SPDX-License-Identifier: Apache-2.0 */
#include "import/vdbbench/keys.h"

#include <stddef.h>
#include <string.h>

/* clang-format off */
#define NO_DATABASE "haul reads the index itself, without a database"
#define NO_MEANING  "vectors of haul are bytes without a meaning"
#define NO_GRAPH    "the graph of haul follows from the seed; how well it was built does not change what a search reads"
#define NO_INSERT   "haul writes the files of an index, not rows of a table"
#define NO_RECALL   "haul measures the I/O of a search, not its recall"
#define OWN_RESULTS "haul writes all that it measures to results.h5; see haul report"

#define USED(n, o, k)    {.name = (n), .other = (o), .kind = (k)}
#define LEFT(n, o, k, w) {.name = (n), .other = (o), .kind = (k), .left = (w)}

static const struct vdb_key keys[] = {
	/* The data and the index. */
	USED("collection_name", "collection", VDB_TEXT),
	USED("num_vectors", NULL, VDB_NUMBER),
	USED("dimension", NULL, VDB_NUMBER),
	USED("num_shards", NULL, VDB_NUMBER),
	USED("vector_dtype", NULL, VDB_TEXT),
	USED("seed", NULL, VDB_NUMBER),
	USED("index_type", NULL, VDB_TEXT),
	USED("max_degree", "MaxDegree", VDB_NUMBER),
	USED("M", "m", VDB_NUMBER),
	USED("inline_pq", NULL, VDB_NUMBER),
	USED("lists", "nlist", VDB_NUMBER),
	LEFT("search_list_size", "SearchListSize", VDB_NUMBER, NO_GRAPH),
	LEFT("ef_construction", "efConstruction", VDB_NUMBER, NO_GRAPH),
	LEFT("metric_type", NULL, VDB_TEXT, NO_MEANING),
	LEFT("distribution", NULL, VDB_TEXT, NO_MEANING),
	/* Searches. */
	USED("search_ef", "ef_search", VDB_NUMBER),
	USED("search_list", "ef", VDB_NUMBER),
	USED("probes", "nprobe", VDB_NUMBER),
	USED("num_query_processes", "processes", VDB_NUMBER),
	USED("batch_size", "search_batch_size", VDB_NUMBER),
	USED("runtime", NULL, VDB_NUMBER),
	USED("queries", NULL, VDB_NUMBER),
	USED("num_query_vectors", NULL, VDB_NUMBER),
	USED("num_search_rounds", NULL, VDB_NUMBER),
	USED("search_limit", "search_k", VDB_NUMBER),
	USED("mode", NULL, VDB_TEXT),
	LEFT("query_mode", NULL, VDB_TEXT, NO_MEANING),
	LEFT("query_noise", NULL, VDB_NUMBER, NO_MEANING),
	LEFT("query_seed", NULL, VDB_NUMBER, "queries follow from the seed of the job"),
	LEFT("benchmark_mode", NULL, VDB_TEXT, "it ends with \"runtime\" or \"queries\", whichever is given; a sweep is haul run --sweep"),
	LEFT("report_count", NULL, VDB_NUMBER, OWN_RESULTS),
	LEFT("log_interval", NULL, VDB_NUMBER, OWN_RESULTS),
	LEFT("output_dir", "out_dir", VDB_TEXT, OWN_RESULTS),
	LEFT("artifacts_dir", NULL, VDB_TEXT, NO_RECALL),
	LEFT("truth_k", "recall_k", VDB_NUMBER, NO_RECALL),
	LEFT("truth_mode", NULL, VDB_TEXT, NO_RECALL),
	LEFT("gt_collection", "gt_cache_dir", VDB_TEXT, NO_RECALL),
	LEFT("no_create_flat", "skip_recall", VDB_BOOL, NO_RECALL),
	/* The database, and how it is filled. */
	LEFT("backend", NULL, VDB_TEXT, NO_DATABASE),
	LEFT("host", NULL, VDB_TEXT, NO_DATABASE),
	LEFT("port", NULL, VDB_ANY, NO_DATABASE),
	LEFT("database", "uri", VDB_TEXT, NO_DATABASE),
	LEFT("user", NULL, VDB_TEXT, NO_DATABASE),
	LEFT("password", NULL, VDB_ANY, NO_DATABASE),
	LEFT("dbname", NULL, VDB_TEXT, NO_DATABASE),
	LEFT("max_receive_message_length", NULL, VDB_NUMBER, NO_DATABASE),
	LEFT("max_send_message_length", NULL, VDB_NUMBER, NO_DATABASE),
	LEFT("chunk_size", "block_size", VDB_NUMBER, NO_INSERT),
	LEFT("max_queue_depth", NULL, VDB_NUMBER, NO_INSERT),
	LEFT("compact", NULL, VDB_BOOL, NO_INSERT),
	LEFT("monitor_interval", NULL, VDB_NUMBER, NO_INSERT),
	LEFT("force", NULL, VDB_BOOL, "haul refuses a folder that holds something else; haul clean removes what was built"),
	LEFT("storage_root", NULL, VDB_TEXT, "set stores.data.uri of the job"),
	LEFT("storage_type", NULL, VDB_TEXT, "set stores.data.uri of the job"),
	LEFT("config", NULL, VDB_TEXT, "give the file itself to haul import"),
	LEFT("what_if", "plan", VDB_BOOL, "haul plan JOB"),
	LEFT("debug", NULL, VDB_BOOL, OWN_RESULTS),
	{.name = NULL},
};
/* clang-format on */

const struct vdb_key *vdb_key_find(const char *name)
{
	for (const struct vdb_key *k = keys; k->name; k++)
		if (strcmp(k->name, name) == 0 || (k->other && strcmp(k->other, name) == 0))
			return k;
	return NULL;
}
