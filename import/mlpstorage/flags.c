/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of mlpstorage: see command.h. */
#include "import/mlpstorage/command.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/option/option.h"

enum { FLAGS_MAX = 192 };

/* clang-format off */
#define TRAINING   FLAGS_TRAINING
#define CHECKPOINT FLAGS_CHECKPOINTING
#define DLIO       (FLAGS_TRAINING | FLAGS_CHECKPOINTING)
#define CACHE      FLAGS_KVCACHE
#define VECTOR     FLAGS_VECTORDB
#define ALL        FLAGS_ALL
#define BUT_VECTOR (DLIO | CACHE)

#define RANKS    "each rank is a process of the launcher: mpiexec -n N"
#define LAUNCHER "it is the launcher's: give it to mpiexec or srun"
#define SERIES   "haul samples the counters of each node in every run: haul report FILE"
#define SPEAKS   "haul run has --quiet; its --op-log FILE has each request"
#define MODES    "a job is the same for all three; haul check says what it is by the rules"
#define DATABASE "haul does the reads of searches, and there is no database"
#define RECALL   "haul's vectors are bytes without a meaning, so that there is no recall"
#define GRAPH    "it is of how the graph is built, of which haul makes one at once"
#define PYTHON   "there is no Python environment to check: haul doctor says what works here"

#define KEY(n, l, o, k, t)     {.path = (n), .other = (l), .of = (o), .kind = KEY_##k, .way = KEY_DLIO, .to = (t), .why = ""}
#define SAME(n, l, k)          {.path = (n), .other = (l), .of = CACHE, .kind = KEY_##k, .way = KEY_OTHERS, .to = "", .why = ""}
#define VDB(n, k, t)           {.path = (n), .other = "", .of = VECTOR, .kind = KEY_##k, .way = KEY_OTHERS, .to = (t), .why = ""}
#define SPECIAL(n, l, o, k, w) {.path = (n), .other = (l), .of = (o), .kind = KEY_##k, .way = KEY_SPECIAL, .to = "", .why = (w)}
#define LEFT(n, l, o, k, w)    {.path = (n), .other = (l), .of = (o), .kind = KEY_##k, .way = KEY_LEFT, .to = "", .why = (w)}

const struct import_key flags_table[] = {
	SPECIAL("--model", "-m", BUT_VECTOR, TEXT, "the workload"),
	SPECIAL("--accelerator-type", "-at", TRAINING, TEXT, "the workload: batch and compute time"),
	SPECIAL("--accelerator-type", "-g", TRAINING, TEXT, "the workload: batch and compute time"),
	LEFT("--accelerator-type", "-at", CHECKPOINT, TEXT, "a checkpoint is the same on each accelerator; its memory is not checked"),
	SPECIAL("--num-accelerators", "-na", TRAINING, WHOLE, RANKS),
	SPECIAL("--max-accelerators", "-ma", TRAINING, WHOLE, RANKS),
	SPECIAL("--num-processes", "-np", BUT_VECTOR, WHOLE, RANKS),
	SPECIAL("--client-host-memory-in-gb", "-cm", DLIO, NUMBER, "the memory of a node is the plan's: haul plan JOB --memory \"512 GiB\""),
	SPECIAL("--num-client-hosts", "-nc", DLIO, WHOLE, "the launcher places the ranks; haul plan JOB --nodes N"),
	SPECIAL("--hosts", "-s", BUT_VECTOR, LIST, "the launcher places the ranks: mpiexec -hosts, srun -w"),
	SPECIAL("--data-dir", "-dd", TRAINING, TEXT, "dataset.data_folder, with the model's name behind it"),
	SPECIAL("--checkpoint-folder", "-cf", DLIO, TEXT, "checkpoint.checkpoint_folder, of a checkpointing with the model's name behind it"),
	SPECIAL("--params", "-p", DLIO, LIST, "keys of DLIO: haul import dlio --keys"),
	SPECIAL("--param", "", DLIO, LIST, "the same as --params"),
	SPECIAL("--params", "-p", CACHE, LIST, "keys of the benchmark's config.yaml"),
	KEY("--num-checkpoints-read", "-ncr", CHECKPOINT, WHOLE, "checkpoint.num_checkpoints_read"),
	KEY("--num-checkpoints-write", "-ncw", CHECKPOINT, WHOLE, "checkpoint.num_checkpoints_write"),
	LEFT("--checkpoint-subset", "", CHECKPOINT, NONE, "a run with fewer ranks than the mesh always writes the part of its ranks"),
	KEY("--o-direct", "", DLIO, NONE, "storage.storage_type=direct_fs"),
	SPECIAL("--file", "", ALL, NONE, "a file system, as without it"),
	SPECIAL("--object", "", DLIO, MAYBE, "an object store; --params storage.storage_root=BUCKET names it"),
	LEFT("--object", "", CACHE, MAYBE, "its benchmark has files; haul's stores may be s3://, too"),
	SPECIAL("--object", "", VECTOR, MAYBE, "an object store; --storage-root BUCKET names it"),
	LEFT("--drop-caches-timeout-seconds", "", TRAINING, WHOLE, "caches are dropped by --set train.cold.drop=drop_caches, or by fadvise"),
	LEFT("--dlio-bin-path", "-dp", DLIO, TEXT, "haul does what DLIO does"),

	SAME("--num-users", "-nu", WHOLE),
	SAME("--duration", "-d", WHOLE),
	SAME("--gpu-mem-gb", "-gm", NUMBER),
	SAME("--cpu-mem-gb", "-cm", NUMBER),
	SAME("--cache-dir", "", TEXT),
	SAME("--generation-mode", "", TEXT),
	SAME("--performance-profile", "", TEXT),
	SAME("--disable-multi-turn", "", NONE),
	SAME("--disable-prefix-caching", "", NONE),
	SAME("--enable-rag", "", NONE),
	SAME("--rag-num-docs", "", WHOLE),
	SAME("--enable-autoscaling", "", NONE),
	SAME("--autoscaler-mode", "", TEXT),
	SAME("--seed", "", WHOLE),
	SAME("--max-concurrent-allocs", "", WHOLE),
	SAME("--enable-latency-tracing", "", NONE),
	LEFT("--config", "", CACHE, TEXT, "haul import kvcache FILE reads the benchmark's config.yaml"),
	SPECIAL("--trials", "", CACHE, WHOLE, "runs are repeated by haul run JOB --repeat N"),
	LEFT("--inter-option-delay", "", CACHE, WHOLE, "a pause before a phase is its key \"after\""),
	SPECIAL("--npernode", "", CACHE | VECTOR, WHOLE, RANKS),
	SPECIAL("--num-processes-per-client", "", CACHE | VECTOR, WHOLE, RANKS),
	LEFT("--kvcache-bin-path", "", CACHE, TEXT, "haul does what the benchmark does"),

	SPECIAL("--index-type", "", VECTOR, TEXT, "the same flag of haul import vdbbench"),
	SPECIAL("--vdb-index", "", VECTOR, TEXT, "the same as --index-type"),
	VDB("--num-vectors", WHOLE, ""),
	VDB("--dimension", WHOLE, ""),
	VDB("--vector-dim", WHOLE, "dimension"),
	VDB("--num-shards", WHOLE, ""),
	VDB("--vector-dtype", TEXT, ""),
	VDB("--max-degree", WHOLE, ""),
	VDB("--M", WHOLE, ""),
	VDB("--inline-pq", WHOLE, ""),
	VDB("--collection", TEXT, ""),
	VDB("--seed", WHOLE, ""),
	VDB("--search-ef", WHOLE, ""),
	VDB("--search-limit", WHOLE, ""),
	VDB("--num-query-processes", WHOLE, ""),
	VDB("--num-query-vectors", WHOLE, ""),
	VDB("--runtime", WHOLE, ""),
	SPECIAL("--queries", "", VECTOR, WHOLE, "the same flag of haul import vdbbench, shared among the ranks"),
	SPECIAL("--batch-size", "", VECTOR, WHOLE, "the same flag of haul import vdbbench; of a datagen it has no meaning"),
	SPECIAL("--storage-root", "", VECTOR, TEXT, "the URI of the store"),
	SPECIAL("--storage-type", "", VECTOR, TEXT, "local_fs, or s3: an object store"),
	SPECIAL("--hosts", "", VECTOR, LIST, "the launcher places the ranks: mpiexec -hosts, srun -w"),
	LEFT("--benchmark-mode", "", VECTOR, TEXT, "a search ends by --runtime or --queries; a sweep is haul run JOB --tune search.list=50..400"),
	LEFT("--mode", "", VECTOR, TEXT, "a search ends by --runtime or --queries; a sweep is haul run JOB --tune search.list=50..400"),
	LEFT("--vdb-engine", "", VECTOR, TEXT, DATABASE),
	LEFT("--host", "-s", VECTOR, TEXT, DATABASE),
	LEFT("--port", "-p", VECTOR, WHOLE, DATABASE),
	LEFT("--milvus-uri", "", VECTOR, TEXT, DATABASE),
	LEFT("--gt-collection", "", VECTOR, TEXT, RECALL),
	LEFT("--recall-k", "", VECTOR, WHOLE, RECALL),
	LEFT("--metric-type", "", VECTOR, TEXT, RECALL),
	LEFT("--distribution", "", VECTOR, TEXT, RECALL),
	LEFT("--search-list-size", "", VECTOR, WHOLE, GRAPH),
	LEFT("--ef-construction", "", VECTOR, WHOLE, GRAPH),
	LEFT("--chunk-size", "", VECTOR, WHOLE, "an index is written from its first byte to its last"),
	LEFT("--force", "", VECTOR, NONE, "haul clean JOB removes an index, so that it is built again"),
	LEFT("--compact", "", VECTOR, NONE, GRAPH),
	LEFT("--monitor-interval", "", VECTOR, WHOLE, "haul run shows its progress by itself"),
	LEFT("--report-count", "", VECTOR, WHOLE, "haul run shows its progress by itself"),
	LEFT("--params", "", VECTOR, LIST, DATABASE),
	LEFT("--config", "", VECTOR, TEXT, "haul import vdbbench FILE reads the benchmark's configurations"),
	LEFT("--distributed", "", VECTOR, NONE, "each run may have several ranks: mpiexec -n N"),
	LEFT("--coordination", "", VECTOR, TEXT, "ranks talk by MPI"),
	LEFT("--ready-timeout", "", VECTOR, WHOLE, "ranks talk by MPI"),
	LEFT("--rank-output-dir", "", VECTOR, TEXT, "the results of all ranks are one file: haul run JOB --results FILE"),
	LEFT("--mpi-impl", "", VECTOR, TEXT, LAUNCHER),

	LEFT("--exec-type", "-et", ALL, TEXT, LAUNCHER),
	LEFT("--mpi-bin", "", ALL, TEXT, LAUNCHER),
	LEFT("--mpi-btl", "", ALL, TEXT, LAUNCHER),
	LEFT("--mpi-params", "", ALL, LIST, LAUNCHER),
	LEFT("--oversubscribe", "", ALL, NONE, LAUNCHER),
	LEFT("--allow-run-as-root", "", ALL, NONE, LAUNCHER),

	SPECIAL("--results-dir", "-rd", ALL, TEXT, "the results are one file: haul run JOB --results FILE"),
	LEFT("--systemname", "-sn", ALL, TEXT, "the results describe their nodes; haul export --mlperf DIR FILE --system NAME names it"),
	LEFT("--config-file", "-c", ALL, TEXT, "give the flags that it holds"),
	SPECIAL("--loops", "", ALL, WHOLE, "runs are repeated by haul run JOB --repeat N"),
	LEFT("--allow-invalid-params", "-aip", ALL, NONE, "keys that DLIO does not have are listed, and do not stop the import"),
	LEFT("--closed", "", ALL, NONE, MODES),
	LEFT("--open", "", ALL, NONE, MODES),
	LEFT("--what-if", "", ALL, NONE, "haul plan JOB opens nothing, and shows what would be done"),
	LEFT("--dry-run", "", ALL, NONE, "haul plan JOB opens nothing, and shows what would be done"),
	LEFT("--debug", "", ALL, NONE, SPEAKS),
	LEFT("--verbose", "", ALL, NONE, SPEAKS),
	LEFT("--quiet", "", ALL, NONE, SPEAKS),
	LEFT("--stream-log-level", "", ALL, TEXT, SPEAKS),
	LEFT("--verify-lockfile", "", ALL, TEXT, PYTHON),
	LEFT("--skip-validation", "", ALL, NONE, PYTHON),
	LEFT("--skip-ssh-check", "", ALL, NONE, "haul logs in nowhere: the launcher starts its ranks"),
	LEFT("--skip-fs-separation-gate", "", ALL, NONE, "haul does not ask where the results lie"),
	LEFT("--timeseries-interval", "", ALL, NUMBER, SERIES),
	LEFT("--skip-timeseries", "", ALL, NONE, SERIES),
	LEFT("--max-timeseries-samples", "", ALL, WHOLE, SERIES),
	{.path = NULL},
};
/* clang-format on */

bool flags_is(const char *word)
{
	return word[0] == '-' && word[1] && !isdigit((unsigned char)word[1]) && word[1] != '.';
}

const struct import_key *flags_find(unsigned of, const char *name, size_t length)
{
	const struct import_key *begins = NULL;
	bool several = false;

	for (const struct import_key *f = flags_table; f->path; f++) {
		if (!(f->of & of))
			continue;
		if ((strlen(f->path) == length && strncmp(f->path, name, length) == 0) ||
		    (strlen(f->other) == length && strncmp(f->other, name, length) == 0))
			return f;
		if (length > 3 && strncmp(f->path, name, length) == 0) {
			several |= begins && strcmp(begins->path, f->path) != 0;
			begins = f;
		}
	}
	return several ? NULL : begins;
}

const char *flags_nearest(unsigned of, const char *word)
{
	const char *names[FLAGS_MAX];
	unsigned n = 0;

	_Static_assert(COUNT(flags_table) < FLAGS_MAX, "more flags than fit");
	/* Letters have one dash. */
	for (const struct import_key *f = flags_table; f->path && strncmp(word, "--", 2) == 0; f++)
		if (f->of & of && *f->other && strlen(f->other) + 1 == strcspn(word, "=") &&
		    strncmp(f->other, word + 1, strlen(f->other)) == 0)
			return f->other;
	for (const struct import_key *f = flags_table; f->path; f++)
		if (f->of & of)
			names[n++] = f->path;
	names[n] = NULL;
	return option_nearest(word, names);
}

char *flags_print(void)
{
	static const char *const values[] = {
		[KEY_NONE] = "",     [KEY_MAYBE] = " [s3]", [KEY_WHOLE] = " N",
		[KEY_NUMBER] = " X", [KEY_TEXT] = " TEXT",  [KEY_LIST] = " TEXT…",
	};
	char *text = NULL, left[96];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (const struct import_key *f = flags_table; f->path; f++) {
		snprintf(left, sizeof(left), "%s%s%s%s", f->path, *f->other ? "/" : "", f->other,
			 values[f->kind]);
		fprintf(out, "%-38s %c%c%c%c  %s\n", left, f->of & FLAGS_TRAINING ? 't' : '-',
			f->of & FLAGS_CHECKPOINTING ? 'c' : '-', f->of & FLAGS_KVCACHE ? 'k' : '-',
			f->of & FLAGS_VECTORDB ? 'v' : '-',
			f->way == KEY_DLIO       ? f->to
			: f->way != KEY_OTHERS   ? f->why
			: f->of & FLAGS_VECTORDB ? "the same flag of haul import vdbbench"
						 : "the same flag of haul import kvcache");
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
