/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads of mlpstorage: see workloads.h. The numbers are those of its files, which the rules of
 * an edition fix. */
#include "import/mlpstorage/workloads.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const workloads_trained[] = {"unet3d", "retinanet", "resnet50", "cosmoflow",
					 "flux",   "dlrm",      NULL};
const char *const workloads_saved[] = {"llama3-8b", "llama3-70b", "llama3-405b", "llama3-1t", NULL};
const char *const workloads_indexes[] = {"DISKANN", "AISAQ", "HNSW", "IVF_FLAT",
					 "IVF_SQ8", "FLAT",  NULL};

static const char *const older[] = {"a100", "h100", NULL};
static const char *const newer[] = {"b200", "mi355", NULL};
static const char *const unet[] = {"a100", "h100", "b200", NULL};

#define FLUX_COLUMNS \
	"  parquet:\n    columns:\n" \
	"      - {name: image, dtype: float32, size: 524328, read: true}\n" \
	"      - {name: a, dtype: float32, size: 409, read: true}\n" \
	"      - {name: b, dtype: float32, size: 8232, read: true}\n" \
	"      - {name: c, dtype: float32, size: 8232, read: true}\n" \
	"      - {name: d, dtype: float32, size: 7, read: true}\n"

/* What a model has whatever the accelerator is. */
struct trained {
	const char *model, *framework, *about, *dataset, *reader;
	unsigned epochs;
	const char *au;
	const char *const *accelerators;
};

/* clang-format off */
static const struct trained trained[] = {
	{"unet3d", "pytorch", "  type: cnn\n  model_size: 499153191\n",
	 "  format: npz\n  num_samples_per_file: 1\n  record_length_bytes: 146600628\n"
	 "  record_length_bytes_stdev: 68341808\n  record_length_bytes_resize: 2097152\n",
	 "  read_threads: 4\n  file_shuffle: seed\n  sample_shuffle: seed\n", 5, "0.9", unet},
	{"retinanet", "pytorch", "  type: cnn\n",
	 "  format: jpeg\n  num_samples_per_file: 1\n  record_length_bytes: 322957\n",
	 "  read_threads: 8\n  file_shuffle: seed\n  sample_shuffle: seed\n", 8, "0.85", newer},
	{"resnet50", "tensorflow", "  type: cnn\n",
	 "  format: tfrecord\n  num_samples_per_file: 1251\n  record_length_bytes: 114660.07\n"
	 "  record_length_bytes_resize: 150528\n",
	 "  read_threads: 8\n  computation_threads: 8\n", 5, "0.9", older},
	{"cosmoflow", "tensorflow", "",
	 "  format: tfrecord\n  num_samples_per_file: 1\n  record_length_bytes: 2828486\n"
	 "  record_length_bytes_stdev: 71311\n",
	 "  read_threads: 4\n  file_shuffle: seed\n  sample_shuffle: seed\n  shuffle_size: 2\n", 5, "0.7", older},
	{"flux", "pytorch", "",
	 "  format: parquet\n  num_samples_per_file: 288\n  record_length_bytes: 2164832\n  compression: none\n" FLUX_COLUMNS,
	 "  read_threads: 8\n  file_shuffle: seed\n", 1, "0.9", newer},
	{"dlrm", "pytorch", "",
	 "  format: parquet\n  num_samples_per_file: 4718592\n  record_length_bytes: 761\n  compression: none\n",
	 "  read_threads: 4\n  file_shuffle: seed\n  prefetch_size: 2\n", 1, "0.7", newer},
	{.model = NULL},
};

/* What an accelerator changes. */
static const struct {
	const char *model, *accelerator;
	unsigned files, batch;
	const char *seconds;
} paces[] = {
	{"unet3d", "a100", 168, 7, "0.636"},         {"unet3d", "h100", 168, 7, "0.323"},
	{"unet3d", "b200", 7200, 7, "0.162"},
	{"retinanet", "b200", 1170301, 24, "0.04755"}, {"retinanet", "mi355", 1170301, 36, "0.071325"},
	{"resnet50", "a100", 1024, 400, "0.435"},    {"resnet50", "h100", 1024, 400, "0.224"},
	{"cosmoflow", "a100", 524288, 1, "0.00551"}, {"cosmoflow", "h100", 524288, 1, "0.0035"},
	{"flux", "b200", 4296, 48, "1.35"},          {"flux", "mi355", 4296, 72, "2.025"},
	{"dlrm", "b200", 1024, 12288, "0.000375"},   {"dlrm", "mi355", 1024, 18432, "0.0005625"},
	{.model = NULL},
};

static const struct {
	const char *model;
	unsigned layers, tensor, pipeline, zero, hidden, feed, heads, kv_heads, whole;
} saved[] = {
	{"llama3-8b", 32, 1, 1, 3, 4096, 14336, 32, 8, 8},
	{"llama3-70b", 80, 8, 1, 3, 8192, 28672, 128, 8, 64},
	{"llama3-405b", 126, 8, 32, 1, 16384, 53248, 128, 8, 512},
	{"llama3-1t", 128, 8, 64, 1, 25872, 98304, 192, 32, 1024},
	{.model = NULL},
};
/* clang-format on */

static const struct trained *trained_find(const char *model)
{
	for (const struct trained *t = trained; t->model; t++)
		if (strcmp(t->model, model) == 0)
			return t;
	return NULL;
}

const char *const *workloads_accelerators(const char *model)
{
	return trained_find(model)->accelerators;
}

const char *workloads_of_sample(double bytes)
{
	static const char key[] = "record_length_bytes: ";

	for (const struct trained *t = trained; t->model; t++)
		if (floor(strtod(strstr(t->dataset, key) + sizeof(key) - 1, NULL)) == bytes)
			return t->model;
	return NULL;
}

/* dlrm's 200 columns, of which a training reads 40. */
static void put_dlrm_columns(FILE *out, bool generates)
{
	static const struct {
		const char *type;
		unsigned from, to;
		bool read;
	} columns[] = {
		{"float16", 0, 50, false}, {"float32", 0, 40, true}, {"float32", 40, 56, false},
		{"float64", 0, 49, false}, {"int8", 0, 45, false},
	};

	fprintf(out, "  parquet:\n    row_group_size: %d\n    columns:\n", generates ? 8192 : 6144);
	for (unsigned i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		for (unsigned c = columns[i].from; c < columns[i].to; c++)
			fprintf(out, "      - {name: %s_%02u, dtype: %s, size: 1, read: %s}\n",
				columns[i].type, c, columns[i].type,
				columns[i].read ? "true" : "false");
}

static char *workloads_text(FILE *out, char **text)
{
	if (out && fclose(out) == 0)
		return *text;
	free(*text);
	return NULL;
}

static void put_training(FILE *out, const struct trained *t, unsigned pace, bool generates)
{
	fprintf(out, "model:\n  name: %s\n%sframework: %s\n", t->model, t->about, t->framework);
	fprintf(out, "workflow: {generate_data: %s, train: %s%s}\n", generates ? "True" : "False",
		generates ? "False" : "True",
		strcmp(t->framework, "pytorch") == 0 ? ", checkpoint: False" : "");
	fprintf(out, "dataset:\n  data_folder: data/%s/\n  num_files_train: %u\n%s", t->model,
		paces[pace].files, t->dataset);
	if (strcmp(t->model, "dlrm") == 0)
		put_dlrm_columns(out, generates);
	if (generates)
		return;
	fprintf(out, "reader:\n  data_loader: %s\n  batch_size: %u\n%s", t->framework,
		paces[pace].batch, t->reader);
	if (strcmp(t->model, "resnet50") == 0 && strcmp(paces[pace].accelerator, "a100") == 0)
		fprintf(out, "  dont_use_mmap: True\n");
	if (strcmp(t->model, "unet3d") == 0)
		fprintf(out, "checkpoint:\n  checkpoint_folder: checkpoints/unet3d\n"
			     "  checkpoint_after_epoch: 5\n  epochs_between_checkpoints: 2\n");
	fprintf(out, "train:\n  epochs: %u\n  computation_time: %s\nmetric:\n  au: %s\n", t->epochs,
		paces[pace].seconds, t->au);
}

char *workloads_training(const char *model, const char *accelerator)
{
	const struct trained *t = trained_find(model);
	char *text = NULL;
	size_t size;
	FILE *out;

	for (unsigned i = 0; t && paces[i].model; i++) {
		if (strcmp(paces[i].model, model) != 0 ||
		    (accelerator && strcmp(paces[i].accelerator, accelerator) != 0))
			continue;
		out = open_memstream(&text, &size);
		if (out)
			put_training(out, t, i, !accelerator);
		return workloads_text(out, &text);
	}
	return NULL;
}

char *workloads_checkpointing(const char *model)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (unsigned i = 0; out && saved[i].model; i++) {
		if (strcmp(saved[i].model, model) != 0)
			continue;
		fprintf(out,
			"framework: pytorch\nmodel:\n  name: llama_%s\n  type: transformer\n"
			"  num_layers: %u\n  model_datatype: fp16\n  optimizer_datatype: fp32\n"
			"  parallelism: {tensor: %u, pipeline: %u, zero_stage: %u}\n",
			model + strlen("llama3-"), saved[i].layers, saved[i].tensor,
			saved[i].pipeline, saved[i].zero);
		fprintf(out,
			"  transformer:\n    vocab_size: 128256\n    hidden_size: %u\n"
			"    ffn_hidden_size: %u\n    num_attention_heads: %u\n    num_kv_heads: %u\n",
			saved[i].hidden, saved[i].feed, saved[i].heads, saved[i].kv_heads);
		fprintf(out,
			"workflow: {generate_data: False, train: False, checkpoint: True}\n"
			"checkpoint:\n  checkpoint_folder: checkpoints/%s\n"
			"  time_between_checkpoints: 5\n  num_checkpoints_write: 10\n"
			"  num_checkpoints_read: 10\n  fsync: True\n",
			model);
	}
	return workloads_text(out, &text);
}

void workloads_mesh(const char *model, unsigned *replica, unsigned *whole)
{
	for (unsigned i = 0; saved[i].model; i++) {
		if (strcmp(saved[i].model, model) != 0)
			continue;
		*replica = saved[i].tensor * saved[i].pipeline;
		*whole = saved[i].whole;
	}
}
