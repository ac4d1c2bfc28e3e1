/* SPDX-License-Identifier: Apache-2.0 */
/* Sample job schema: see sample_schema.h. */
#include "tests/core/job/sample_schema.h"
#include "core/measure/quantile.h"

static const char *const fsync_names[] = {"none", "close", "each", NULL};
static const char *const format_names[] = {"raw", "npy", "npz", NULL};
static const char *const loader_names[] = {"pytorch", NULL};
static const char *const shuffle_names[] = {"none", "once", "each_epoch", NULL};
static const char *const verify_names[] = {"none", "sampled", "full", NULL};

static const struct option store_options[] = {
	OPT_TEXTS("uri", struct sample_store, uri, .required = true, .help = "where it is"),
	OPT_BYTES("transfer", struct sample_store, transfer, .max = 1ull << 30,
		  .help = "bytes a request at most"),
	OPT_TIME("timeout", struct sample_store, timeout_ns, .help = "when a request is late"),
	OPT_END};
static const struct option file_options[] = {
	OPT_BOOL("direct", struct sample_store, direct, .help = "past the page cache"),
	OPT_CHOICE("fsync", struct sample_store, fsync, .def = 1, .choices = fsync_names,
		   .help = "when data is synced"),
	OPT_END};
static const struct option sim_options[] = {
	OPT_RATE("bandwidth", struct sample_store, bandwidth, .help = "of the whole store"),
	OPT_RATE("rank_bandwidth", struct sample_store, rank_bandwidth, .help = "of one rank"),
	OPT_TIME("latency", struct sample_store, latency_ns, .help = "of a request"),
	OPT_REAL("failure_rate", struct sample_store, failure_rate, .min_real = 0, .max_real = 1,
		 .help = "share of requests that fail"),
	OPT_FACTORS("slow_ranks", struct sample_store, slow_ranks, .min_real = 0.001, .max_real = 1,
		    .help = "speed of single ranks"),
	OPT_END};
static const struct option dataset_options[] = {
	OPT_TEXT("store", struct sample_dataset, store, .required = true, .help = "where it lies"),
	OPT_CHOICE("format", struct sample_dataset, format, .def = 2, .choices = format_names,
		   .help = "of its files"),
	OPT_U64("files", struct sample_dataset, files, .required = true, .min = 1,
		.help = "how many"),
	OPT_U64("samples_per_file", struct sample_dataset, samples_per_file, .def = 1, .min = 1,
		.help = "in each"),
	OPT_BYTES("sample_bytes", struct sample_dataset, sample_bytes, .required = true, .min = 1,
		  .help = "on average"),
	OPT_BYTES("sample_bytes_stdev", struct sample_dataset, sample_bytes_stdev,
		  .help = "deviation of it"),
	OPT_TEXT("folder", struct sample_dataset, folder, .help = "below the store's URI"),
	OPT_END};
static const struct option loader_options[] = {
	OPT_CHOICE("kind", struct sample_loader, kind, .choices = loader_names,
		   .help = "how batches are built"),
	OPT_U64("workers", struct sample_loader, workers, .def = 4, .max = 1024,
		.help = "reader threads of a rank"),
	OPT_U64("prefetch", struct sample_loader, prefetch, .def = 2, .min = 1, .max = 4096,
		.help = "batches ahead"),
	OPT_U64("depth", struct sample_loader, depth, .def = 1, .min = 1, .max = 4096,
		.help = "requests in flight"),
	OPT_END};
static const struct option evaluation_options[] = {
	OPT_U64("every", struct sample_evaluation, every, .def = 0, .min = 1, .max = 1000,
		.help = "epochs between two"),
	OPT_TEXT("dataset", struct sample_evaluation, dataset, .required = true,
		 .help = "what it reads"),
	OPT_U64("batch", struct sample_evaluation, batch, .def = 1, .min = 1,
		.help = "samples a step"),
	OPT_END};
static const struct option tier_options[] = {
	OPT_TEXT("store", struct sample_tier, store, .required = true, .help = "where it lies"),
	OPT_BYTES("capacity", struct sample_tier, capacity, .help = "how much it holds"),
	OPT_TABLE("reader", struct sample_tier, reader, .table = loader_options,
		  .help = "who reads it"),
	OPT_END};
static const struct option train_options[] = {
	OPT_U64("epochs", struct sample_train, epochs, .def = 1, .min = 1, .max = 100000,
		.help = "passes over the data set"),
	OPT_U64("steps", struct sample_train, steps, .help = "at most; 0: all"),
	OPT_TIME("seconds", struct sample_train, seconds_ns, .help = "at most; 0: no limit"),
	OPT_U64("batch", struct sample_train, batch, .def = 1, .min = 1, .max = 1 << 20,
		.help = "samples a rank takes each step"),
	OPT_DRAW("compute", struct sample_train, compute,
		 .help = "emulated accelerator time of a step"),
	OPT_DRAW("preprocess", struct sample_train, preprocess, .def_real = 1e6,
		 .help = "emulated time of a sample"),
	OPT_TABLE("loader", struct sample_train, loader, .table = loader_options,
		  .help = "who reads"),
	OPT_CHOICE("shuffle", struct sample_train, shuffle, .def = 2, .choices = shuffle_names,
		   .help = "order of samples"),
	OPT_CHOICE("verify", struct sample_train, verify, .def = 1, .choices = verify_names,
		   .help = "what is checked"),
	OPT_BOOL("hold", struct sample_train, hold, .def = false,
		 .help = "keep a sample's bytes until its batch is used"),
	OPT_TEXTS("tags", struct sample_train, tags, .def_text = "plain",
		  .help = "words for the report"),
	OPT_TABLE("evaluation", struct sample_train, evaluation, .table = evaluation_options,
		  .help = "now and then"),
	OPT_LIST("tiers", struct sample_train, tiers, tier_count, .table = tier_options,
		 .help = "stores, the nearest first"),
	OPT_END};

static const struct target train_targets[] = {
	{.name = "target_au",
	 .label = "AU",
	 .unit = "fraction",
	 .figure = "au",
	 .help = "AU to reach"},
	{.name = "target_bandwidth",
	 .label = "bandwidth",
	 .unit = "B/s",
	 .figure = "rate",
	 .help = "bytes per second to reach"},
	{.name = "target_p99",
	 .label = "p99",
	 .unit = "ns",
	 .hist = "read",
	 .quantile = QUANTILE_P99,
	 .bound = TARGET_MOST,
	 .help = "to stay below"},
	{.name = "target_rate",
	 .label = "steps",
	 .unit = "1/s",
	 .figure = "steps",
	 .help = "to reach"},
	{.name = NULL},
};

static const struct section file_section = {.name = "file",
					    .help = "a folder",
					    .tables = {store_options, file_options},
					    .size = sizeof(struct sample_store)};
static const struct section sim_section = {.name = "sim",
					   .help = "a model",
					   .tables = {store_options, sim_options},
					   .size = sizeof(struct sample_store)};
static const struct section dataset_section = {.name = "dataset",
					       .help = "files",
					       .tables = {dataset_options},
					       .size = sizeof(struct sample_dataset)};
static const struct section generate_section = {
	.name = "generate", .help = "makes the data set", .size = 1};
static const struct section train_section = {.name = "train",
					     .help = "reads it as training does",
					     .tables = {train_options},
					     .targets = train_targets,
					     .size = sizeof(struct sample_train)};

const struct job_schema *sample_schema(void)
{
	static const struct section *const stores[] = {&file_section, &sim_section, NULL};
	static const struct section *const phases[] = {&generate_section, &train_section, NULL};
	static const struct job_schema schema = {stores, &dataset_section, phases};

	return &schema;
}

const char sample_job[] =
	"{\n"
	"  \"name\": \"unet3d-h100\", \"seed\": \"18446744073709551615\",\n"
	"  \"cluster\": {\"ranks\": 4, \"ranks_per_node\": 2, \"gpus\": 2, \"tensor\": 2, \"pin\": \"list\", \"cores\": \"1-2:3-4\"},\n"
	"  \"stores\": {\n"
	"    \"data\": {\"uri\": [\"sim://a{rank}\", \"sim://b\"], \"bandwidth\": \"2 GB/s\", \"rank_bandwidth\": 500000000,\n"
	"             \"latency\": \"1.5 ms\", \"failure_rate\": 0.1, \"slow_ranks\": {\"3\": 0.25, \"0\": 0.3}},\n"
	"    \"ckpt\": {\"uri\": \"file:///tmp/ckpt/{node}/{local_rank}\", \"direct\": true, \"fsync\": \"each\"}\n"
	"  },\n"
	"  \"dataset\": {\"store\": \"data\", \"format\": \"npy\", \"files\": 8400, \"sample_bytes\": \"140 MiB\",\n"
	"              \"sample_bytes_stdev\": 68341808, \"folder\": \"tr\\u00e4in\"},\n"
	"  \"phases\": [\n"
	"    {\"generate\": {}},\n"
	"    {\"train\": {\"name\": \"big\", \"epochs\": 5, \"batch\": 7, \"compute\": \"93.254 ms\", \"loader\": {\"workers\": 8},\n"
	"               \"preprocess\": {\"type\": \"gamma\", \"shape\": 2.5, \"scale\": \"3 us\"}, \"target_au\": 0.9,\n"
	"               \"tiers\": [\"near\", {\"store\": \"far\", \"capacity\": \"1 GiB\", \"reader\": \"pytorch\"}]}},\n"
	"    {\"train\": {\"store\": \"ckpt\", \"compute\": {\"type\": \"normal\", \"mean\": 0.323, \"stdev\": \"1 ms\"},\n"
	"               \"loader\": \"pytorch\", \"hold\": true, \"tags\": [\"a\", \"b c\"],\n"
	"               \"evaluation\": {\"every\": 2, \"dataset\": \"eval\"}, \"verify\": \"full\"}}\n"
	"  ]\n"
	"}\n";
