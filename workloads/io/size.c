/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "workloads/io/io.h"
#include "workloads/io/work.h"

double io_operations(const struct io_options *o, bool whole, uint32_t ranks)
{
	uint64_t items = io_items(o, whole);
	uint64_t limit = io_limit(o, (items + o->threads - 1) / o->threads, whole);
	double operations = o->passes ? (double)items * (double)o->passes : INFINITY;
	double bytes = io_operation_bytes(o, whole);

	if (limit < UINT64_MAX)
		operations = fmin(operations, (double)limit * (double)o->threads);
	if (whole && o->limits.bytes && bytes > 0)
		operations = fmin(operations, (double)o->limits.bytes / bytes * (double)o->threads);
	if (isinf(operations))
		operations = (double)items;
	return o->parts > 1 && !o->folder_per_rank ? operations / ranks : operations;
}

int io_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
	    uint32_t ranks_per_node, struct demand *out, struct err *err)
{
	const struct io_options *o = phase->options;
	const struct limit_options *l = &o->limits;
	const struct backend_ops *ops;
	const struct job_store *store;
	double operations, rate;
	bool whole;
	int rc = phase_store_find(job, phase, &store, err);

	if (rc < 0)
		return rc;
	ops = store->section->owner;
	whole = io_whole(o, ops->capabilities);
	operations = io_operations(o, whole, ranks);
	rate = pace_rate(&o->pace, io_operation_bytes(o, whole));
	if (whole)
		out->bytes_per_rank = operations * io_operation_bytes(o, whole);
	else if (io_moves(o))
		out->bytes_per_rank = operations / (double)io_items(o, whole) *
				      (double)io_size_of(o) * (double)o->objects;
	out->bytes = out->bytes_per_rank * ranks;
	out->files = o->layout == IO_OBJECTS ? o->objects * ranks : 1;
	/* They take at least as long as a rate holds them back; 0: as long as the store. */
	if (rate > 0)
		out->seconds = operations * ranks / rate + (double)l->warmup_ns / 1e9;
	out->seconds_limit = (double)(l->seconds_ns ? l->seconds_ns + l->warmup_ns : 0) / 1e9;
	out->memory_per_rank =
		o->threads * io_thread_bytes(o, whole, ops->capabilities & BACKEND_CONTENT);
	if (o->operation == IO_DO_READ && o->shift == SHIFT_NODE && ranks_per_node >= ranks &&
	    o->cold.drop == DROP_NONE)
		demand_note(
			out,
			"io on one node reads what the same node wrote, perhaps from its cache");
	if (!o->passes && !o->limits.count && !o->limits.bytes)
		demand_note(out, "the bytes of io depend on its seconds: one pass is counted here");
	cold_size(&o->cold, ranks_per_node, out);
	return 0;
}

int io_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
	      struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err)
{
	const struct io_options *o = phase->options;
	const struct backend_ops *ops;
	const struct job_store *store;
	struct demand demand = {0};
	struct phase_store *s;
	int rc = phase_store_find(job, phase, &store, err);

	if (rc == 0)
		rc = io_size(job, phase, ranks, 1, &demand, err);
	if (rc < 0)
		return rc;
	s = phase_store_add(out, count, "data", store);
	s->needs = io_needs(o);
	if (o->operation != IO_DO_READ && o->operation != IO_DO_STAT && o->operation != IO_DO_LIST)
		s->needs |= BACKEND_WRITES;
	s->depth = o->depth;
	s->depth_option = "depth";
	s->verifies = o->verify == VERIFY_FULL;
	ops = store->section->owner;
	if (!(ops->capabilities & BACKEND_CONTENT) ||
	    (o->operation != IO_DO_WRITE && o->operation != IO_DO_CREATE))
		return 0;
	if (o->operation == IO_DO_WRITE)
		s->space_bytes =
			fmin(io_size_mean(o) * (double)o->objects, demand.bytes_per_rank) * ranks;
	s->inodes = demand.files;
	/* The description of the set, its folder, and those of the ranks. */
	if (ops->capabilities & BACKEND_PERSISTENT)
		s->inodes += 2 + (o->folder_per_rank ? ranks : 0);
	return 0;
}
