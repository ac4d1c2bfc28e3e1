/* SPDX-License-Identifier: Apache-2.0 */
/* Object set: the objects that io phases share by the name of their folder. What defines them, how they are called, and
 * which of them exist; rank 0 keeps this beside them in "<folder>/.haul-io.json".
 *
 *	io/0000003.0000000012              object 12 of rank 3
 *	io/0000003/0000003.0000000012      with a folder for each rank
 *	io/shared                          one object for all ranks
 *
 * haul writes into a folder that is empty or has that file, and deletes only what it describes. */
#ifndef HAUL_WORKLOADS_IO_SET_H
#define HAUL_WORKLOADS_IO_SET_H

#include "backends/queue/queue.h"
#include "workloads/io/io.h"

struct io_set {
	char folder[IO_FOLDER_BYTES];
	uint32_t layout;
	bool folder_per_rank;
	uint64_t ranks, objects; /* objects: of each rank */
	uint64_t size, seed;     /* size: where size_count is 0 */
	struct io_size_option sizes[IO_SIZES_MAX];
	uint32_t size_count;
	double compress, dedup;
	uint64_t dedup_distance;

	/* What exists: everything, or the first `written` items of each thread's work, in the order
	 * of the phase that wrote them. */
	bool complete;
	uint64_t written, threads, block;
	uint32_t order;

	struct io_sizes drawn; /* made of the above: io_set_ready */
};

/* As a phase describes it; nothing exists yet. */
void io_set_of(struct io_set *s, const struct io_options *o, uint64_t seed, uint64_t ranks);

/* Bytes of an object of that rank, or of the shared object where there is one. */
uint64_t io_set_bytes(const struct io_set *s, uint64_t rank, uint64_t object);

/* Collective, before the phase: finds out what exists (into s), and whether this phase may work on
 * it: -EEXIST, -ENOENT or -EINVAL with a sentence. Where the store keeps no content, everything is
 * taken to exist. A phase that makes or deletes objects records this before it begins. */
int io_set_begin(struct io_set *s, const struct io_options *o, struct queue *q, struct group *group,
		 struct err *err);

/* Collective, after it. done: so much of each thread's work was done on every rank at least; all:
 * whether that is everything, or after a mix that deletes, whether all objects exist. Where the set
 * was deleted, the folders and the description go, too. */
int io_set_end(struct io_set *s, const struct io_options *o, uint64_t done, bool all,
	       struct queue *q, struct group *group, struct err *err);

/* Whether the objects are those that an earlier phase of the job makes, as far as the job tells:
 * -EINVAL with a sentence where this phase describes others. */
int io_set_check_job(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		     struct err *err);

/* Names. For a shared object, rank and object do not matter. The folder ends in '/' ("" for the
 * root). */
void io_set_key(const struct io_set *s, uint64_t rank, uint64_t object, char key[OBJECT_KEY_BYTES]);
void io_set_folder(const struct io_set *s, uint64_t rank, char key[OBJECT_KEY_BYTES]);
/* From an object's key to the one that it has while it is renamed. */
void io_set_renamed(char key[OBJECT_KEY_BYTES]);

#endif
