/* SPDX-License-Identifier: Apache-2.0 */
/* What a phase of vector search asks of the machine. */
#include <inttypes.h>

#include "core/numbers.h"
#include "workloads/vector/work.h"

/* What files of an index take that are new on a store. */
static void vector_space(const struct vector_options *o, const struct job_store *store,
			 uint64_t files, struct phase_store *s)
{
	struct vector_index x;

	vector_index_of(&x, &o->shape, 0, 0);
	if (!(((const struct backend_ops *)store->section->owner)->capabilities & BACKEND_CONTENT))
		return;
	s->space_bytes = (double)x.size * (double)files;
	s->inodes = files + 2; /* the description, and the folder */
}

int vector_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		  struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err)
{
	const struct vector_options *o = phase->options;
	const struct job_store *store = NULL;
	struct phase_store *s;
	int rc = vector_check(job, phase, ranks, err);

	if (rc == 0)
		rc = phase_store_find(job, phase, &store, err);
	if (rc < 0 || !store)
		return rc;
	s = phase_store_add(out, count, "index", store);
	if (o->operation == VECTOR_SEARCH) {
		s->needs = BACKEND_RANGES;
		/* What the store may refuse by itself; their product is checked by then. */
		s->depth_option = o->depth > backend_depth(store) ? "depth" : "beam";
		s->depth = o->depth > backend_depth(store) ? o->depth : o->beam;
		s->verifies = o->verify == VERIFY_FULL;
		if (o->file[0])
			s->needs |= BACKEND_CONTENT;
		if (!vector_changes(o))
			return 0;
		/* Each rank merges one segment at a time. */
		s->needs |= BACKEND_WRITES;
		vector_space(o, store, o->merge_passes * min_u64(ranks, o->shape.segments), s);
		return 0;
	}
	if (o->operation == VECTOR_LOAD) {
		s->needs = BACKEND_RANGES;
		s->verifies = o->verify == VERIFY_FULL;
		rc = vector_load_to(job, phase, &store, err);
		if (rc < 0 || !store)
			return rc;
		s = phase_store_add(out, count, "copy", store);
		s->needs = BACKEND_UPDATE;
	}
	s->needs |= BACKEND_WRITES;
	vector_space(o, store, o->shape.segments, s);
	return 0;
}

/* The options of a rank that has a part of the segments: the largest that one has. */
static struct vector_options vector_of_rank(const struct vector_options *o, uint32_t ranks)
{
	struct vector_options own = *o;

	if (o->spread == VECTOR_SPREAD_SEGMENTS) {
		own.shape.segments = (o->shape.segments + ranks - 1) / ranks;
		own.shape.vectors = vector_segment_vectors(&o->shape) * own.shape.segments;
	}
	return own;
}

/* About how many reads a query does in a segment. Of a node's neighbours, HNSW has read a third before. */
static uint64_t vector_reads(const struct vector_options *o)
{
	if (o->shape.index == VECTOR_HNSW)
		return o->list * o->shape.degree * 2 / 3;
	return vector_is_graph(o->shape.index) ? o->list : vector_probes(o);
}

/* Codes of an index that exists already, and neighbours of the nodes that are kept in memory. */
static uint64_t vector_existing_bytes(const struct vector_options *o)
{
	return o->shape.vectors * o->shape.pq_bytes +
	       vector_cached(o) * (1 + o->shape.degree) * sizeof(uint32_t);
}

static void vector_size_search(const struct vector_options *o, const struct vector_index *x,
			       uint64_t ranks_per_node, struct demand *out)
{
	uint64_t reads = vector_reads(o);
	uint64_t unit = vector_index_unit(x), queries = vector_limit(o) * o->threads;
	uint64_t flight = vector_in_flight(o, o->side);

	out->bytes_per_rank = (double)(queries * reads * o->shape.segments) * (double)unit;
	out->memory_per_rank = o->threads * (vector_thread_bytes(o) + flight * unit) +
			       o->query_vectors * sizeof(uint64_t) +
			       (o->file[0] ? vector_existing_bytes(o) : 0) +
			       o->shape.segments * (hot_bytes(vector_cached(o)) + sizeof(*x));
	out->seconds_limit =
		(double)(o->limits.seconds_ns ? o->limits.seconds_ns + o->limits.warmup_ns : 0) /
		1e9;
	if (!queries)
		demand_note(
			out,
			"the bytes of a search depend on its seconds, and are not counted here");
	demand_note(out,
		    "a query reads about %" PRIu64 " %s of %" PRIu64
		    " bytes in each segment, those in memory taken off",
		    reads, vector_is_graph(o->shape.index) ? "nodes" : "lists", unit);
	cold_size(&o->cold, (uint32_t)ranks_per_node, out);
}

static void vector_size_merges(const struct vector_options *o, const struct vector_index *x,
			       const struct job_store *store, struct demand *out)
{
	uint64_t inserts, at = vector_merge_at(o, &inserts);

	out->memory_per_rank += vector_merge_bytes(o, store);
	demand_note(out,
		    "a merge reads and writes %" PRIu64 " bytes %" PRIu64 " times, after %" PRIu64
		    " inserts and %" PRIu64 " deletes",
		    x->size, o->merge_passes, inserts, at - inserts);
}

static void vector_size_load(const struct vector_options *o, const struct vector_index *x,
			     const struct job_store *store, uint64_t ranks, struct demand *out)
{
	uint64_t share = (o->shape.segments + ranks - 1) / ranks;

	out->bytes_per_rank = (double)x->size * (double)share;
	out->memory_per_rank =
		o->threads * (crew_thread_bytes(&vector_meter) +
			      vector_load_depth(o, store) * min_u64(o->slice, x->size));
	if (ranks > o->shape.segments)
		demand_note(out, "one rank loads a segment: %" PRIu64 " of them are busy",
			    o->shape.segments);
}

int vector_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		uint32_t ranks_per_node, struct demand *out, struct err *err)
{
	const struct vector_options *o = phase->options;
	const struct job_store *store = NULL;
	struct vector_index x;
	int rc = vector_check(job, phase, ranks, err);

	if (rc == 0)
		rc = phase_store_find(job, phase, &store, err);
	if (rc < 0 || !store)
		return rc;
	vector_index_of(&x, &o->shape, job->seed, 0);
	out->files = o->shape.segments;
	if (o->operation == VECTOR_SEARCH) {
		const struct vector_options own = vector_of_rank(o, ranks);

		vector_size_search(&own, &x, ranks_per_node, out);
		if (vector_changes(o))
			vector_size_merges(o, &x, store, out);
	} else if (o->operation == VECTOR_LOAD) {
		vector_size_load(o, &x, store, ranks, out);
	} else {
		uint64_t share = (o->shape.segments + ranks - 1) / ranks;

		out->bytes_per_rank = (double)x.size * (double)share;
		out->memory_per_rank =
			o->threads *
			(vector_build_buffers(store->section->owner, backend_part(store, x.size)) +
			 crew_thread_bytes(&vector_meter));
		if (vector_builder_bytes(&o->shape))
			demand_note(out,
				    "who builds such a graph of real vectors needs %" PRIu64
				    " bytes of memory for a segment",
				    vector_builder_bytes(&o->shape));
		if (ranks * o->threads > o->shape.segments)
			demand_note(out,
				    "one thread writes a segment: %" PRIu64
				    " of them keep that many threads of all ranks busy",
				    o->shape.segments);
	}
	out->bytes = o->operation == VECTOR_SEARCH ? out->bytes_per_rank * ranks
						   : (double)x.size * (double)o->shape.segments;
	return 0;
}
