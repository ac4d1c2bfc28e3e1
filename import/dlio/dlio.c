/* SPDX-License-Identifier: Apache-2.0 */
/* DLIO workload: see dlio.h. The table of its keys, and the look-up of values. */
#include "import/dlio/dlio.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/json_path.h"

/* clang-format off */
#define LISTS      "haul lists no files: it computes their names"
#define OWN_DATA   "haul generates data in its own way: random bytes that it can verify"
#define NO_PART    "it does not change the I/O: haul hands no tensors to a framework"
#define PLUGIN     "it names a Python class: haul loads none"
#define STREAM     "it belongs to a Python reader; haul has loader.workers, prefetch and depth"
#define OWN_LOG    "haul writes all that it measures to results.h5"
#define SECRET     "a job holds no secrets: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
#define MAP_THREADS "it sets the threads of TensorFlow's map: haul's workers read and build batches"
#define NEVER_USED "DLIO reads it and never uses it"
#define NO_DECODER "haul decodes no tensors"
#define OTHER_URI  "give the job a store null:// or sim:// for that"

#define LEFT(p, k, w)           {.path = (p), .kind = (k), .way = KEY_LEFT, .why = (w)}
#define MAPPED(p, k, t, d)      {.path = (p), .kind = (k), .to = (t), .def = (d)}
#define MAPPED_TEXT(p, k, t, d) {.path = (p), .kind = (k), .to = (t), .def_text = (d)}

const struct import_key dlio_keys[] = {
	MAPPED_TEXT("framework", KEY_TEXT, "train.loader.kind", "tensorflow"),

	MAPPED("workflow.generate_data", KEY_BOOL, "phases", 0),
	MAPPED("workflow.train", KEY_BOOL, "phases", 1),
	MAPPED("workflow.evaluation", KEY_BOOL, "train.evaluation", 0),
	MAPPED("workflow.checkpoint", KEY_BOOL, "phases", 0),
	MAPPED("workflow.profiling", KEY_BOOL, "the results", 0),
	LEFT("workflow.query", KEY_ANY, "it belongs to dlio_benchmark_query"),
	LEFT("workflow.debug", KEY_ANY, OWN_LOG),

	MAPPED_TEXT("storage.storage_type", KEY_TEXT, "stores.data.uri", "local_fs"),
	MAPPED_TEXT("storage.storage_root", KEY_TEXT, "stores.data.uri", "./"),
	MAPPED_TEXT("storage.storage_library", KEY_TEXT, "stores.data.client", ""),
	MAPPED("storage.endpoint_uris", KEY_TEXTS, "stores.data.endpoints", 0),
	MAPPED("storage.use_mpi_endpoint_distribution", KEY_BOOL, "stores.data.balance", 0),
	MAPPED_TEXT("storage.load_balance_strategy", KEY_TEXT, "stores.data.balance", ""),
	MAPPED("storage.s3_force_path_style", KEY_BOOL, "stores.data.addressing", 0),
	LEFT("storage.post_generation_settle_seconds", KEY_NUMBER, "haul makes no pause: it knows when its data are published"),
	MAPPED_TEXT("storage.storage_options.storage_library", KEY_TEXT, "stores.data.client", ""),
	MAPPED_TEXT("storage.storage_options.uri_scheme", KEY_TEXT, "stores.data.uri", ""),
	MAPPED("storage.storage_options.endpoint_url", KEY_TEXTS, "stores.data.endpoints", 0),
	MAPPED("storage.storage_options.endpoint_uris", KEY_TEXTS, "stores.data.endpoints", 0),
	MAPPED("storage.storage_options.use_mpi_endpoint_distribution", KEY_BOOL, "stores.data.balance", 0),
	MAPPED_TEXT("storage.storage_options.load_balance_strategy", KEY_TEXT, "stores.data.balance", ""),
	MAPPED_TEXT("storage.storage_options.region", KEY_TEXT, "stores.data.region", ""),
	MAPPED_TEXT("storage.storage_options.s3_profile", KEY_TEXT, "stores.data.profile", ""),
	MAPPED("storage.storage_options.s3_force_path_style", KEY_BOOL, "stores.data.addressing", 0),
	MAPPED("storage.storage_options.s3_max_attempts", KEY_WHOLE, "stores.data.retry.attempts", 5),
	LEFT("storage.storage_options.access_key_id", KEY_SECRET, SECRET),
	LEFT("storage.storage_options.secret_access_key", KEY_SECRET, SECRET),
	LEFT("storage.storage_options.secure", KEY_BOOL, "each endpoint begins with http:// or https://"),
	LEFT("storage.storage_options.use_full_object_uri", KEY_BOOL, "it changes names inside DLIO; haul's keys are the same either way"),
	LEFT("storage.storage_options.prefetch_workers", KEY_WHOLE, STREAM),
	LEFT("storage.storage_options.prefetch_window", KEY_WHOLE, STREAM),
	LEFT("storage.storage_options.prefetch", KEY_ANY, STREAM),
	LEFT("storage.storage_options.max_outstanding", KEY_WHOLE, STREAM),
	LEFT("storage.storage_options.stagger_workers", KEY_ANY, STREAM),
	MAPPED("storage.storage_options.columns", KEY_TEXTS, "dataset.parquet.columns", 0),
	LEFT("storage.storage_options.coalesce_rgs", KEY_ANY, STREAM),
	LEFT("storage.storage_options.footer_cap", KEY_ANY, STREAM),
	LEFT("storage.storage_options.footer_batch_size", KEY_ANY, STREAM),
	LEFT("storage.storage_options.row_group_cache_size", KEY_WHOLE, STREAM),
	LEFT("storage.storage_options.decode", KEY_TEXT, NO_DECODER),
	LEFT("storage.storage_options.decode_output", KEY_ANY, NO_DECODER),
	LEFT("storage.storage_options.simulate_io", KEY_ANY, OTHER_URI),
	LEFT("storage.storage_options.sim_log_secs", KEY_ANY, OTHER_URI),

	MAPPED("dataset.record_length_bytes", KEY_NUMBER, "dataset.sample_bytes", 65536),
	MAPPED("dataset.record_length_bytes_stdev", KEY_NUMBER, "dataset.sample_bytes_stdev", 0),
	LEFT("dataset.record_length_bytes_resize", KEY_NUMBER, NO_PART),
	MAPPED("dataset.record_length_byte_stdev", KEY_NUMBER, "dataset.sample_bytes_stdev", 0),
	MAPPED("dataset.batch_size", KEY_WHOLE, "train.batch", 1),
	MAPPED("dataset.batch_size_eval", KEY_WHOLE, "train.evaluation.batch", 1),
	MAPPED("dataset.record_length", KEY_NUMBER, "dataset.sample_bytes", 0),
	MAPPED("dataset.record_length_stdev", KEY_NUMBER, "dataset.sample_bytes_stdev", 0),
	LEFT("dataset.record_length_resize", KEY_NUMBER, NO_PART),
	MAPPED("dataset.record_dims", KEY_LIST, "dataset.sample_bytes", 0),
	MAPPED_TEXT("dataset.record_element_type", KEY_TEXT, "dataset.sample_bytes", "uint8"),
	MAPPED("dataset.record_element_bytes", KEY_WHOLE, "dataset.sample_bytes", 0),
	MAPPED("dataset.num_files_train", KEY_WHOLE, "dataset.files", 8),
	MAPPED("dataset.num_files_eval", KEY_WHOLE, "datasets.valid.files", 0),
	MAPPED("dataset.num_samples_per_file", KEY_WHOLE, "dataset.samples_per_file", 1),
	MAPPED("dataset.num_subfolders_train", KEY_WHOLE, "dataset.subfolders", 0),
	MAPPED("dataset.num_subfolders_eval", KEY_WHOLE, "datasets.valid.subfolders", 0),
	MAPPED_TEXT("dataset.data_folder", KEY_TEXT, "stores.data.uri", "./data/"),
	MAPPED_TEXT("dataset.daos_pool", KEY_TEXT, "stores.data.uri", ""),
	MAPPED_TEXT("dataset.daos_cont", KEY_TEXT, "stores.data.uri", ""),
	MAPPED_TEXT("dataset.file_prefix", KEY_TEXT, "dataset.prefix", "img"),
	MAPPED_TEXT("dataset.format", KEY_TEXT, "dataset.format", "tfrecord"),
	MAPPED("dataset.enable_chunking", KEY_BOOL, "dataset.hdf5.chunk_bytes", 0),
	MAPPED("dataset.chunk_size", KEY_WHOLE, "dataset.hdf5.chunk_bytes", 0),
	MAPPED_TEXT("dataset.compression", KEY_TEXT, "dataset", "none"),
	LEFT("dataset.compression_level", KEY_NUMBER, "haul writes files uncompressed"),
	LEFT("dataset.generation_buffer_size", KEY_NUMBER, "haul generates files of any size in constant memory"),
	LEFT("dataset.keep_files", KEY_BOOL, "haul keeps the files that it generates; haul clean removes them"),
	LEFT("dataset.skip_listing", KEY_BOOL, LISTS),
	LEFT("dataset.listing_validation_interval", KEY_NUMBER, LISTS),
	LEFT("dataset.data_gen_method", KEY_TEXT, OWN_DATA),
	MAPPED("dataset.hdf5.chunk_dims", KEY_LIST, "dataset.hdf5.chunk_bytes", 0),
	MAPPED("dataset.hdf5.num_dset_per_record", KEY_WHOLE, "dataset.hdf5.datasets", 1),
	LEFT("dataset.hdf5.max_shape", KEY_ANY, "haul's HDF5 data sets have a fixed shape; their bytes lie in the same places"),
	MAPPED("dataset.parquet.columns", KEY_LIST, "dataset.parquet.columns", 0),
	MAPPED("dataset.parquet.row_group_size", KEY_WHOLE, "dataset.parquet.row_group", 1024),
	LEFT("dataset.parquet.read_mode", KEY_TEXT, STREAM),
	LEFT("dataset.parquet.partition_by", KEY_ANY, "haul does not partition files by a column"),
	LEFT("dataset.parquet.generation_batch_size", KEY_NUMBER, OWN_DATA),
	LEFT("dataset.parquet.use_s3dlio_gen", KEY_BOOL, OWN_DATA),

	MAPPED_TEXT("reader.data_loader", KEY_TEXT, "train.loader.kind", "tensorflow"),
	LEFT("reader.data_loader_classname", KEY_TEXT, PLUGIN),
	LEFT("reader.data_loader_sampler", KEY_TEXT, "haul has an order of its own: each sample exactly once per epoch"),
	LEFT("reader.reader_classname", KEY_TEXT, PLUGIN),
	MAPPED("reader.batch_size", KEY_WHOLE, "train.batch", 1),
	MAPPED("reader.batch_size_eval", KEY_WHOLE, "train.evaluation.batch", 1),
	MAPPED("reader.read_threads", KEY_WHOLE, "train.loader.workers", 1),
	LEFT("reader.computation_threads", KEY_NUMBER, MAP_THREADS),
	LEFT("reader.computatation_threads", KEY_NUMBER, MAP_THREADS),
	MAPPED_TEXT("reader.read_shuffle", KEY_SWITCH, "train.shuffle.files", "off"),
	MAPPED_TEXT("reader.memory_shuffle", KEY_SWITCH, "train.shuffle.samples", "off"),
	LEFT("reader.prefetch", KEY_ANY, "reader.prefetch_size says how much is read ahead"),
	MAPPED("reader.prefetch_size", KEY_WHOLE, "train.loader.prefetch", 2),
	MAPPED("reader.write_threads", KEY_WHOLE, "generate.threads", 1),
	MAPPED_TEXT("reader.file_shuffle", KEY_SWITCH, "train.shuffle.files", "off"),
	MAPPED_TEXT("reader.sample_shuffle", KEY_SWITCH, "train.shuffle.samples", "off"),
	MAPPED("reader.shuffle_size", KEY_WHOLE, "train.shuffle.window", 1024),
	LEFT("reader.read_type", KEY_TEXT, "haul opens, reads and closes files as readers of the format do"),
	LEFT("reader.file_access", KEY_TEXT, NEVER_USED),
	MAPPED("reader.transfer_size", KEY_WHOLE, "train.loader.stream.transfer, stores.data.transfer", 0),
	LEFT("reader.dont_use_mmap", KEY_BOOL, "it belongs to DALI; haul's file stores map files only with \"engine\": \"mmap\""),
	MAPPED("reader.preprocess_time", KEY_DRAW, "train.preprocess", 0),
	MAPPED("reader.preprocess_time_stdev", KEY_NUMBER, "train.preprocess", 0),
	LEFT("reader.multiprocessing_context", KEY_TEXT, "haul's workers are threads"),
	MAPPED("reader.pin_memory", KEY_BOOL, "train.loader.pin_memory", 0),
	MAPPED("reader.odirect", KEY_BOOL, "stores.data.direct", 0),
	LEFT("reader.transformed_record_dims", KEY_ANY, NO_PART),
	LEFT("reader.transformed_record_element_type", KEY_ANY, NO_PART),

	MAPPED("train.epochs", KEY_WHOLE, "train.epochs", 1),
	MAPPED("train.total_training_steps", KEY_NUMBER, "train.steps", -1),
	MAPPED("train.seed", KEY_WHOLE, "seed", 123),
	MAPPED("train.seed_change_epoch", KEY_BOOL, "train.shuffle.order", 1),
	MAPPED("train.computation_time", KEY_DRAW, "train.compute", 0),
	MAPPED("train.computation_time_stdev", KEY_NUMBER, "train.compute", 0),

	MAPPED("evaluation.eval_time", KEY_DRAW, "train.evaluation.compute", 0),
	MAPPED("evaluation.eval_time_stdev", KEY_NUMBER, "train.evaluation.compute", 0),
	MAPPED("evaluation.eval_after_epoch", KEY_WHOLE, "train.evaluation.every", 1),
	MAPPED("evaluation.epochs_between_evals", KEY_WHOLE, "train.evaluation.every", 1),

	LEFT("model.name", KEY_ANY, "the job has the name of the file"),
	MAPPED_TEXT("model.type", KEY_TEXT, "checkpoint.model", ""),
	MAPPED("model.model_size_bytes", KEY_NUMBER, "checkpoint.model.bytes", 10240),
	MAPPED("model.model_size", KEY_NUMBER, "checkpoint.model.bytes", 0),
	MAPPED("model.optimization_groups", KEY_LIST, "checkpoint.model.bytes", 0),
	MAPPED("model.num_layers", KEY_NUMBER, "checkpoint.model.layers", -1),
	MAPPED("model.layer_parameters", KEY_LIST, "checkpoint.model.bytes", 0),
	MAPPED_TEXT("model.model_datatype", KEY_TEXT, "checkpoint.model.weights", "fp16"),
	MAPPED_TEXT("model.optimizer_datatype", KEY_TEXT, "checkpoint.model.optimizer", "fp32"),
	MAPPED("model.parallelism.tensor", KEY_WHOLE, "checkpoint.mesh.tensor", 1),
	MAPPED("model.parallelism.pipeline", KEY_WHOLE, "checkpoint.mesh.pipeline", 1),
	MAPPED("model.parallelism.data", KEY_NUMBER, "checkpoint.mesh.data", -1),
	MAPPED("model.parallelism.zero_stage", KEY_NUMBER, "checkpoint.mesh.zero", 0),
	MAPPED("model.transformer.vocab_size", KEY_WHOLE, "checkpoint.model.vocabulary", 32000),
	MAPPED("model.transformer.hidden_size", KEY_WHOLE, "checkpoint.model.hidden", 2048),
	MAPPED("model.transformer.ffn_hidden_size", KEY_WHOLE, "checkpoint.model.feed_forward", 8192),
	MAPPED("model.transformer.num_attention_heads", KEY_WHOLE, "checkpoint.model.heads", 32),
	MAPPED("model.transformer.num_kv_heads", KEY_WHOLE, "checkpoint.model.kv_heads", 8),

	MAPPED_TEXT("checkpoint.checkpoint_folder", KEY_TEXT, "stores.checkpoints.uri", "./checkpoints/"),
	MAPPED("checkpoint.checkpoint_after_epoch", KEY_NUMBER, "train.checkpoint.first_epoch", 1),
	MAPPED("checkpoint.epochs_between_checkpoints", KEY_NUMBER, "train.checkpoint.every_epochs", 1),
	MAPPED("checkpoint.steps_between_checkpoints", KEY_NUMBER, "train.checkpoint.every_steps", -1),
	MAPPED_TEXT("checkpoint.type", KEY_TEXT, "checkpoint.mesh", "rank_zero"),
	MAPPED("checkpoint.model_size", KEY_NUMBER, "checkpoint.model.bytes", 10240),
	MAPPED("checkpoint.optimization_groups", KEY_LIST, "checkpoint.model.bytes", 0),
	MAPPED("checkpoint.num_layers", KEY_NUMBER, "checkpoint.model.bytes", 1),
	MAPPED("checkpoint.layer_parameters", KEY_LIST, "checkpoint.model.bytes", 0),
	MAPPED("checkpoint.tensor_parallelism", KEY_WHOLE, "checkpoint.model.bytes", 1),
	MAPPED("checkpoint.pipeline_parallelism", KEY_WHOLE, "checkpoint.model.bytes", 1),
	MAPPED_TEXT("checkpoint.checkpoint_daos_pool", KEY_TEXT, "stores.checkpoints.uri", ""),
	MAPPED_TEXT("checkpoint.checkpoint_daos_cont", KEY_TEXT, "stores.checkpoints.uri", ""),
	MAPPED("checkpoint.checkpoint_daos_chunk_size", KEY_WHOLE, "checkpoint.chunk", 0),
	MAPPED("checkpoint.checkpoint_daos_chunks_limit", KEY_WHOLE, "checkpoint.buffers", 0),
	MAPPED_TEXT("checkpoint.mode", KEY_TEXT, "checkpoint.mesh.data", "default"),
	MAPPED("checkpoint.fsync", KEY_BOOL, "stores.checkpoints.fsync", 0),
	MAPPED("checkpoint.num_checkpoints", KEY_NUMBER, "checkpoint.count", -1),
	MAPPED("checkpoint.recovery_after_steps", KEY_NUMBER, "checkpoint.operation", -1),
	MAPPED("checkpoint.load_rank_shift", KEY_FLAG, "checkpoint.shift", 0),
	MAPPED("checkpoint.recovery_rank_shift", KEY_FLAG, "checkpoint.shift", 0),
	MAPPED("checkpoint.time_between_checkpoints", KEY_NUMBER, "checkpoint.pause", -1),
	MAPPED("checkpoint.num_checkpoints_write", KEY_NUMBER, "checkpoint.count", -1),
	MAPPED("checkpoint.num_checkpoints_read", KEY_NUMBER, "checkpoint.count", -1),
	LEFT("checkpoint.rank_sync", KEY_ANY, "haul measures both: the time of each rank, and of the slowest one from a common start"),
	LEFT("checkpoint.randomize_tensor", KEY_ANY, "haul's tensors always hold random bytes"),
	LEFT("checkpoint.ksm", KEY_ANY, "haul holds no tensors in memory: there are no equal pages to merge"),
	LEFT("checkpoint.checkpoint_mechanism_classname", KEY_ANY, PLUGIN),

	LEFT("output.folder", KEY_ANY, OWN_LOG),
	LEFT("output.log_file", KEY_ANY, OWN_LOG),
	MAPPED("output.metric.exclude_start_steps", KEY_WHOLE, "train.warmup_steps", 1),
	LEFT("output.metric.exclude_end_steps", KEY_WHOLE, "haul's AU includes the last steps"),
	LEFT("profiling.profiler", KEY_ANY, OWN_LOG),
	LEFT("profiling.iostat_devices", KEY_ANY, OWN_LOG),
	LEFT("profiling.devices", KEY_ANY, OWN_LOG),
	LEFT("profiling.iostat_command", KEY_ANY, OWN_LOG),
	LEFT("profiling.darshan_preload", KEY_ANY, OWN_LOG),
	MAPPED("metric.au", KEY_NUMBER, "train.target_au", 0.9),

	LEFT("logdir", KEY_ANY, OWN_LOG),
	LEFT("listing_threads", KEY_NUMBER, LISTS),
	LEFT("hydra", KEY_ANY, "it belongs to Hydra: where DLIO runs and logs"),
	{.path = NULL},
};
/* clang-format on */
_Static_assert(sizeof(dlio_keys) / sizeof(dlio_keys[0]) <= DLIO_KEYS_MAX,
	       "struct dlio has a place for each key");

const struct import_key *dlio_key(const char *path)
{
	for (const struct import_key *k = dlio_keys; k->path; k++)
		if (strcmp(k->path, path) == 0)
			return k;
	return NULL;
}

bool dlio_key_section(const char *path)
{
	size_t n = strlen(path);

	for (const struct import_key *k = dlio_keys; k->path; k++)
		if (strncmp(k->path, path, n) == 0 && k->path[n] == '.')
			return true;
	return false;
}

const struct cJSON *dlio_peek(const struct dlio *d, const char *path)
{
	return json_at(d->tree, path);
}

const struct cJSON *dlio_at(struct dlio *d, const char *path)
{
	const struct import_key *k = dlio_key(path);

	if (k)
		d->asked[k - dlio_keys] = true;
	return dlio_peek(d, path);
}

void dlio_written_as(struct dlio *d, const char *path, const char *name)
{
	d->written[dlio_key(path) - dlio_keys] = name;
}

double dlio_number(struct dlio *d, const char *path)
{
	const cJSON *value = dlio_at(d, path);

	return value ? value->valuedouble : dlio_key(path)->def;
}

bool dlio_bool(struct dlio *d, const char *path)
{
	const cJSON *value = dlio_at(d, path);

	if (cJSON_IsNumber(value))
		return value->valuedouble != 0;
	return value ? cJSON_IsTrue(value) : dlio_key(path)->def != 0;
}

const char *dlio_text(struct dlio *d, const char *path)
{
	const cJSON *value = dlio_at(d, path);

	return value ? value->valuestring : dlio_key(path)->def_text;
}

const char *dlio_switch(struct dlio *d, const char *path)
{
	const cJSON *value = dlio_at(d, path);

	if (cJSON_IsFalse(value))
		return "off";
	return value ? value->valuestring : dlio_key(path)->def_text;
}

bool dlio_uses_data(const struct dlio *d)
{
	return d->generates || d->trains;
}

void dlio_found(struct dlio *d, enum import_fate fate, const char *path, const char *format, ...)
{
	const struct import_key *k = dlio_key(path);
	const char *name = k ? d->written[k - dlio_keys] : NULL;
	char why[IMPORT_WHY_BYTES];
	va_list list;

	va_start(list, format);
	vsnprintf(why, sizeof(why), format, list);
	va_end(list);
	import_found(d->out, fate, name ? name : path, dlio_at(d, path), "%s", why);
}

void dlio_refuse(struct dlio *d, const char *format, ...)
{
	char text[ERR_TEXT_BYTES];
	va_list list;

	if (d->rc < 0)
		return;
	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	d->rc = err_set(d->err, -EINVAL, "%s", text);
}

void dlio_no_memory(struct dlio *d)
{
	d->out->failed = true;
}

void dlio_add_text(struct dlio *d, struct cJSON *to, const char *name, const char *text)
{
	if (!cJSON_AddStringToObject(to, name, text))
		dlio_no_memory(d);
}
