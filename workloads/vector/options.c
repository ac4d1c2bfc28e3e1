/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a phase of vector search, and what is refused. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/key.h"
#include "core/numbers.h"
#include "workloads/common/piece_reader.h"
#include "workloads/vector/vector.h"

static const char *const operation_names[] = {"build", "search", "load", NULL};
static const char *const issue_names[] = {"rounds", "pipelined", NULL};
static const char *const spread_names[] = {"queries", "segments", NULL};
static const char *const cache_by_names[] = {"breadth_first", "sample", NULL};

/* As DiskANN's and SPANN's own defaults. */
enum { BEAM_DEFAULT = 4, AISAQ_BEAM = 2, SPANN_PROBES = 64, IVF_PROBES = 16, IVF_BEAM = 4 };

const struct option vector_options_table[] = {
	OPT_CHOICE(
		"operation", struct vector_options, operation, .choices = operation_names,
		.required = true,
		.help = "build writes the index, search asks it, load reads all of it as a query node does before its first search"),
	OPT_TEXT("folder", struct vector_options, folder, .def_text = "vectors",
		 .help = "where the index lies; phases of one folder work on the same index"),
	OPT_TEXT(
		"file", struct vector_options, file, .def_text = "",
		.help = "an index file of DiskANN in the folder that exists already and is searched as it is (PREFIX_disk.index); its header and the files of its compressed vectors say its shape, and \"type\" what its numbers are"),
	OPT_CHOICE(
		"index", struct vector_options, shape.index, .choices = vector_kind_names,
		.help = "diskann: a graph of nodes, searched round by round; aisaq: the same, with what else would be in memory in the nodes; hnsw: a graph of which a search reads all neighbours of a node before it goes on; spann, ivf: lists of vectors, some of which a query reads at once"),
	OPT_U64("vectors", struct vector_options, shape.vectors, .def = 1000000, .min = 2,
		.max = (uint64_t)VECTOR_VECTORS_MAX * VECTOR_SEGMENTS_MAX,
		.help = "vectors in all segments together"),
	OPT_U64("dimension", struct vector_options, shape.dimension, .def = 1536, .min = 1,
		.max = VECTOR_DIMENSION_MAX, .help = "numbers of a vector"),
	OPT_CHOICE("type", struct vector_options, shape.type, .choices = vector_type_names,
		   .help = "what a number is stored as"),
	OPT_CHOICE(
		"layout", struct vector_options, shape.layout, .choices = vector_layout_names,
		.help = "scattered: vectors that are near each other lie far from each other in the file, as builders leave them; near: beside each other, as a file that was reordered for page_search has them"),
	OPT_U64("segments", struct vector_options, shape.segments, .def = 1, .min = 1,
		.max = VECTOR_SEGMENTS_MAX,
		.help = "index files among which the vectors are divided; a query searches all of them side by side, and is answered with the slowest"),
	OPT_U64("degree", struct vector_options, shape.degree, .def = 64, .min = 2,
		.max = GRAPH_DEGREE_MAX, .help = "neighbours of a node (of hnsw: 2 * M)"),
	OPT_U64("pq_bytes", struct vector_options, shape.pq_bytes, .def = 64, .min = 1, .max = 4096,
		.help = "aisaq: bytes of a compressed vector, of which a node has one for each neighbour"),
	OPT_U64("lists", struct vector_options, shape.lists, .def = 0, .max = VECTOR_VECTORS_MAX,
		.def_text = "spann: 16 % of the vectors, ivf: 4 * their root",
		.help = "spann, ivf: lists of a segment"),
	OPT_U64("list_pages", struct vector_options, shape.list_pages, .def = 3, .min = 1,
		.max = VECTOR_LIST_PAGES_MAX, .help = "spann: pages of 4 KiB of a list"),
	OPT_U64("list", struct vector_options, list, .def = 100, .min = 1, .max = VECTOR_LIST_MAX,
		.help = "of a graph: candidates that a search keeps (L, of hnsw ef); it ends when all have been looked at"),
	OPT_U64("beam", struct vector_options, beam, .def = 0, .max = VECTOR_BEAM_MAX,
		.def_text =
			"diskann, ivf: 4, aisaq: 2, hnsw: 1, spann: all lists of a query; fewer where the store takes fewer at a time",
		.help = "reads of a search in flight at most (W)"),
	OPT_CHOICE(
		"issue", struct vector_options, issue, .choices = issue_names,
		.help = "diskann, aisaq; rounds:  the next reads go when all of the last have been answered; pipelined: one goes as soon as one has"),
	OPT_BOOL(
		"page_search", struct vector_options, page_search,
		.help = "diskann, aisaq: all nodes of a sector that is read are candidates, not only the one it is read for"),
	OPT_U64("probes", struct vector_options, probes, .def = 0, .max = VECTOR_BEAM_MAX,
		.def_text = "spann: 64, ivf: 16",
		.help = "spann, ivf: lists of each segment that a query reads"),
	OPT_BYTES(
		"cache", struct vector_options, cache_bytes, .def = 0,
		.help = "diskann, aisaq: memory for nodes of each segment, which are then not read"),
	OPT_CHOICE(
		"cache_by", struct vector_options, cache_by, .choices = cache_by_names,
		.help = "breadth_first: the nodes nearest to where searches begin; sample: those that sample queries meet"),
	OPT_U64("query_vectors", struct vector_options, query_vectors, .def = 100000, .min = 1,
		.max = 1 << 24, .help = "different queries, asked in turn"),
	OPT_REAL(
		"skew", struct vector_options, skew, .def_real = 0, .min_real = 0, .max_real = 0.99,
		.help = "how much queries prefer some vectors: a share x of them gets x^(1-skew) of the queries; 0: not at all"),
	OPT_CHOICE(
		"spread", struct vector_options, spread, .choices = spread_names,
		.help = "over the ranks; queries: each rank searches all segments for queries of its own; segments: each searches its own segments for all queries, which are answered with the slowest rank"),
	OPTION_THREADS(
		struct vector_options, threads, 1024,
		"threads per rank: that search, that write a segment each, or that share the slices of a load"),
	OPT_U64("depth", struct vector_options, depth, .def = 1, .min = 1, .max = 1024,
		.help = "queries, or slices of a load, in flight for each thread"),
	OPT_REAL(
		"inserts", struct vector_options, inserts, .def_real = 0, .min_real = 0,
		.max_real = 1e9,
		.help = "search, of diskann and aisaq: vectors inserted beside searches, per second in all segments"),
	OPT_REAL("deletes", struct vector_options, deletes, .def_real = 0, .min_real = 0,
		 .max_real = 1e9, .help = "the same of vectors that are deleted"),
	OPT_U64("merge_at", struct vector_options, merge_at, .def = 0, .max = VECTOR_VECTORS_MAX,
		.def_text = "a 27th of the vectors of a segment",
		.help = "inserts and deletes of a segment after which they are merged into its file"),
	OPT_U64("merge_passes", struct vector_options, merge_passes, .def = 2, .min = 1, .max = 2,
		.help = "times that a merge reads and writes the file; 2: without what was deleted, then with what was inserted, as FreshDiskANN does"),
	OPT_U64("merges", struct vector_options, merges, .def = 0, .max = 1000000,
		.help = "merges of each segment after which the phase ends; 0: its count or seconds end it"),
	OPT_U64("count", struct vector_options, limits.count, .def = 0,
		.def_text = "1000, or none where \"seconds\" or \"merges\" are given",
		.help = "queries of each thread"),
	OPTION_SECONDS(struct vector_options, limits.seconds_ns),
	OPT_TIME("warmup", struct vector_options, limits.warmup_ns, .def = 0,
		 .help = "time at the start that is not counted, before \"seconds\""),
	OPT_REAL("rate", struct vector_options, pace.rate, .def_real = 0, .min_real = 0,
		 .max_real = 1e12, .help = "queries per second of all ranks together; 0: no limit"),
	OPT_CHOICE(
		"arrivals", struct vector_options, pace.arrivals, .choices = pace_arrivals_names,
		.help = "with a rate; paced: no faster than it; constant, poisson: queries are due at "
			"times that do not wait for the store"),
	OPT_BYTES("slice", struct vector_options, slice, .def = 16 << 20, .min = PIECE_BYTES_MIN,
		  .max = 1 << 30, .help = "load: bytes of a read"),
	OPT_TEXT(
		"to", struct vector_options, to, .def_text = "",
		.help = "load: the store into whose folder of the same name the index is written; left out: it is only read"),
	OPTION_VERIFY(struct vector_options, verify),
	OPTION_ON_ERROR(struct vector_options, on_error),
	OPTION_COLD(struct vector_options, cold),
	OPT_END,
};

uint64_t vector_probes(const struct vector_options *o)
{
	uint64_t wanted = o->probes                        ? o->probes
			  : o->shape.index == VECTOR_SPANN ? SPANN_PROBES
							   : IVF_PROBES;

	if (vector_is_graph(o->shape.index))
		return 0;
	return min_u64(wanted, vector_segment_lists(&o->shape));
}

static uint64_t vector_beam_wanted(const struct vector_options *o)
{
	if (o->shape.index == VECTOR_SPANN)
		return vector_probes(o);
	if (o->shape.index == VECTOR_IVF)
		return min_u64(vector_probes(o), IVF_BEAM);
	/* Through a mapping, one page fault comes after the other. */
	if (o->shape.index == VECTOR_HNSW)
		return 1;
	return o->shape.index == VECTOR_AISAQ ? AISAQ_BEAM : BEAM_DEFAULT;
}

void vector_complete(const struct job *job, struct job_phase *phase)
{
	struct vector_options *o = phase->options;
	const struct job_store *store;
	struct err none = {0};
	uint64_t most = QUEUE_DEPTH_MAX;

	if (phase_store_find(job, phase, &store, &none) == 0)
		most = backend_depth(store);
	most = max_u64(most / max_u64(o->depth, 1), 1);
	o->side = max_u64(min_u64(o->shape.segments, most / max_u64(o->beam, 1)), 1);
	if (!o->beam)
		o->beam = max_u64(min_u64(vector_beam_wanted(o), most / o->side), 1);
}

uint64_t vector_in_flight(const struct vector_options *o, uint64_t side)
{
	return o->depth * side * o->beam;
}

uint64_t vector_cached(const struct vector_options *o)
{
	struct vector_index x;

	if (!vector_is_graph(o->shape.index))
		return 0;
	vector_index_of(&x, &o->shape, 0, 0);
	return min_u64(o->cache_bytes / x.item_bytes, x.vectors);
}

uint64_t vector_limit(const struct vector_options *o)
{
	static const uint64_t count_default = 1000;

	return o->limits.count || o->limits.seconds_ns || o->merges ? o->limits.count
								    : count_default;
}

uint64_t vector_most(const struct vector_options *o)
{
	uint64_t limit = vector_limit(o);

	return limit || o->spread != VECTOR_SPREAD_SEGMENTS ? limit : VECTOR_PARTS_MAX / o->threads;
}

uint64_t vector_own(const struct vector_options *o, uint32_t rank, uint32_t ranks, uint64_t *from)
{
	uint64_t segments = o->shape.segments;

	*from = 0;
	if (o->spread != VECTOR_SPREAD_SEGMENTS && o->operation != VECTOR_LOAD)
		return segments;
	*from = segments * rank / ranks;
	return segments * (rank + 1) / ranks - *from;
}

static int vector_check_shape(const struct vector_shape *s, const char *path, struct err *err)
{
	uint64_t vectors = s->vectors / s->segments;
	struct vector_index x;

	if (s->vectors % s->segments)
		return err_set(err, -EINVAL,
			       "%s/segments: %" PRIu64
			       " vectors are not divided equally among %" PRIu64,
			       path, s->vectors, s->segments);
	if (vectors < 2 || vectors > VECTOR_VECTORS_MAX)
		return err_set(err, -EINVAL,
			       "%s/segments: a segment has %" PRIu64
			       " vectors, and may have 2 to %" PRIu64 ", since ids have 32 bits",
			       path, vectors, (uint64_t)VECTOR_VECTORS_MAX);
	if (vector_is_graph(s->index) && s->lists)
		return err_set(err, -EINVAL, "%s/lists: are of spann and ivf, not of %s", path,
			       vector_kind_names[s->index]);
	if (s->index == VECTOR_HNSW && (s->degree < 4 || s->degree % 2))
		return err_set(err, -EINVAL, "%s/degree: is 2 * M of hnsw, from 4 on", path);
	if (s->lists > vectors)
		return err_set(err, -EINVAL,
			       "%s/lists: are more than the %" PRIu64 " vectors of a segment", path,
			       vectors);
	vector_index_of(&x, s, 0, 0);
	if (!vector_is_graph(s->index) && !x.entries)
		return err_set(err, -EINVAL,
			       "%s/list_pages: a list of %" PRIu64
			       " pages has no room for a vector of %" PRIu64 " bytes",
			       path, s->list_pages, x.vector_bytes);
	return 0;
}

static int vector_check_file(const struct vector_options *o, const char *path, struct err *err)
{
	size_t length = strlen(o->file), end = strlen(VECTOR_FILE_END);

	if (length < end || strcmp(o->file + length - end, VECTOR_FILE_END) != 0)
		return err_set(err, -EINVAL, "%s/file: ends in \"" VECTOR_FILE_END "\"", path);
	if (o->operation != VECTOR_SEARCH || vector_changes(o))
		return err_set(err, -EINVAL, "%s/file: exists already, and is searched only", path);
	if (o->shape.index != VECTOR_DISKANN || o->shape.segments != 1)
		return err_set(err, -EINVAL, "%s/file: is one segment of diskann", path);
	if (o->cache_bytes && o->cache_by == VECTOR_SAMPLE)
		return err_set(err, -EINVAL,
			       "%s/cache_by: of an index that exists already, the nodes nearest to "
			       "where searches begin are kept",
			       path);
	if (o->verify == VERIFY_FULL)
		return err_set(err, -EINVAL,
			       "%s/verify: nobody knows which bytes belong into a file that exists "
			       "already",
			       path);
	return 0;
}

/* Whether a read brings several nodes. */
static bool vector_sector_nodes(const struct vector_options *o)
{
	struct vector_index x;

	if (!vector_is_graph(o->shape.index))
		return false;
	vector_index_of(&x, &o->shape, 0, 0);
	return x.per_sector > 1;
}

static int vector_check_changes(const struct vector_options *o, uint32_t ranks, const char *path,
				struct err *err)
{
	uint64_t vectors = vector_segment_vectors(&o->shape);

	if (o->inserts + o->deletes <= 0) {
		return o->merges
			       ? err_set(err, -EINVAL,
					 "%s/merges: without \"inserts\" or \"deletes\" there are none",
					 path)
			       : 0;
	}
	if (o->shape.index != VECTOR_DISKANN && o->shape.index != VECTOR_AISAQ)
		return err_set(err, -EINVAL, "%s/inserts: are of diskann and aisaq, not of %s",
			       path, vector_kind_names[o->shape.index]);
	if (ranks > 1 && o->spread != VECTOR_SPREAD_SEGMENTS)
		return err_set(err, -EINVAL,
			       "%s/spread: with inserts or deletes, each segment has one rank that "
			       "searches and merges it; set it to \"segments\"",
			       path);
	if (o->merge_at > vectors)
		return err_set(err, -EINVAL,
			       "%s/merge_at: is more than the %" PRIu64 " vectors of a segment",
			       path, vectors);
	return 0;
}

static int vector_check_search(const struct vector_options *o, uint32_t ranks, const char *path,
			       struct err *err)
{
	if (o->shape.index == VECTOR_HNSW && o->cache_bytes)
		return err_set(err, -EINVAL,
			       "%s/cache: hnsw keeps no nodes; the page cache does, with a store's "
			       "engine mmap",
			       path);
	if (!vector_is_graph(o->shape.index) && o->cache_bytes)
		return err_set(err, -EINVAL, "%s/cache: is of nodes, and %s has none", path,
			       vector_kind_names[o->shape.index]);
	if (vector_is_graph(o->shape.index) && o->probes)
		return err_set(err, -EINVAL, "%s/probes: are lists, and %s has none", path,
			       vector_kind_names[o->shape.index]);
	if (o->page_search && !vector_sector_nodes(o))
		return err_set(
			err, -EINVAL,
			"%s/page_search: a sector has no nodes beside the one it is read for",
			path);
	if (o->cache_bytes && vector_cached(o) >= vector_segment_vectors(&o->shape))
		return err_set(err, -EINVAL, "%s/cache: holds all nodes, and nothing would be read",
			       path);
	if (o->spread == VECTOR_SPREAD_SEGMENTS && o->shape.segments < ranks)
		return err_set(err, -EINVAL,
			       "%s/segments: %" PRIu64
			       " cannot be spread over %u ranks, of which each has one at least",
			       path, o->shape.segments, ranks);
	if (vector_check_changes(o, ranks, path, err) < 0)
		return -EINVAL;
	return pace_check(&o->pace, false, "search", path, err);
}

/* One of the two that is too much by itself is refused where all phases are, by its name (vector_stores). */
static int vector_check_flight(const struct vector_options *o, const struct job_store *store,
			       const char *path, struct err *err)
{
	uint64_t flight = vector_in_flight(o, o->side), most = backend_depth(store);

	if (flight <= most || o->depth > most || o->beam > most)
		return 0;
	return err_set(err, -EINVAL,
		       "%s/depth: %" PRIu64
		       " reads would be in flight for a thread (depth * beam), and store \"%s\" "
		       "takes at most %" PRIu64 " at once",
		       path, flight, store->name, most);
}

static uint32_t can(const struct job_store *store)
{
	return ((const struct backend_ops *)store->section->owner)->capabilities;
}

int vector_load_to(const struct job *job, const struct job_phase *phase,
		   const struct job_store **to, struct err *err)
{
	const struct vector_options *o = phase->options;
	const struct job_store *from;
	int rc = phase_store_find(job, phase, &from, err);

	*to = NULL;
	if (rc < 0 || !o->to[0] || o->operation != VECTOR_LOAD)
		return rc;
	/* Direct writes begin at whole blocks. */
	if (o->slice % VECTOR_SECTOR)
		return err_set(err, -EINVAL, "%s/slice: is not a multiple of %d bytes", phase->path,
			       VECTOR_SECTOR);
	*to = job_find_store(job, o->to);
	if (!*to)
		return err_set(err, -EINVAL, "%s/to: there is no store \"%s\"", phase->path, o->to);
	if (*to == from)
		return err_set(err, -EINVAL, "%s/to: is the store that the index is loaded from",
			       phase->path);
	if (can(*to) & BACKEND_CONTENT && !(can(from) & BACKEND_CONTENT))
		return err_set(err, -EINVAL,
			       "%s/to: \"%s\" keeps content, and the store that is read has none",
			       phase->path, o->to);
	return 0;
}

int vector_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		 struct err *err)
{
	const struct vector_options *o = phase->options;
	const struct job_store *store;
	int rc = phase_store_find(job, phase, &store, err);

	if (rc == 0 && key_check_folder(o->folder, err) < 0)
		rc = err_wrap(err, -EINVAL, "%s/folder", phase->path);
	if (rc == 0 && o->file[0])
		rc = vector_check_file(o, phase->path, err);
	if (rc == 0)
		rc = vector_check_shape(&o->shape, phase->path, err);
	if (rc == 0 && o->operation == VECTOR_SEARCH)
		rc = vector_check_search(o, ranks, phase->path, err);
	if (rc == 0 && o->operation == VECTOR_SEARCH)
		rc = vector_check_flight(o, store, phase->path, err);
	if (rc == 0 && o->operation != VECTOR_BUILD)
		rc = cold_check(&o->cold, store, phase->path, err);
	if (rc == 0)
		rc = vector_load_to(job, phase, &store, err);
	return rc;
}
