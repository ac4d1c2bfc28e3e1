/* SPDX-License-Identifier: Apache-2.0 */
/* Group of ranks on MPI: see group.h. Every operation is non-blocking and is waited for in wait.c.
 * MPI errors are fatal, which is MPI's default: a rank that cannot reach the others has nobody to
 * agree with. */
#include "ranks/mpi/group.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "ranks/mpi/node_status.h"

enum { GROUP_BLOCKS_MAX = 64, GROUP_TAG = 1, GROUP_LETTER_TAG = 2, GROUP_LETTERS = 32 };

struct mpi_block {
	MPI_Win window; /* MPI_WIN_NULL: plain memory of a group of one */
	void *memory;
};

/* Letters of a channel that have been posted. Their number bounds those that MPI has not taken over
 * yet. */
struct mpi_letters {
	uint32_t next;
	MPI_Request sent[GROUP_LETTERS];
	uint8_t data[GROUP_LETTERS][GROUP_LETTER_BYTES];
};

struct mpi_group {
	struct group base;
	MPI_Comm comm;
	struct waiting waiting;
	/* where its status rounds take place; NULL: among all ranks, by MPI */
	struct node_status *node_status;
	bool status_busy;
	uint64_t stop; /* the reason told here, where no board spreads it */
	void (*stop_told)(void *argument, uint64_t reason); /* NULL: nobody watches */
	void *told_argument;
	uint64_t (*stop_asked)(void *argument); /* from outside the group; NULL: nobody asks */
	void *stop_argument;
	MPI_Request status_request;
	MPI_Datatype status_type;
	MPI_Op status_op, max_op, min_op;
	struct status mine, merged;
	uint32_t block_count;
	struct mpi_block blocks[GROUP_BLOCKS_MAX];
	struct mpi_letters *letters; /* [GROUP_CHANNELS]; NULL: none was posted */
};

static const struct group_ops mpi_group_ops;

static struct mpi_group *mpi_group_of(const struct group *g)
{
	return (struct mpi_group *)g;
}

/* MPI's user function. */
static void merge_status(void *in, void *into, int *count, MPI_Datatype *type)
{
	const struct status *from = in;
	struct status *to = into;

	(void)type;
	for (int i = 0; i < *count; i++)
		status_merge(&to[i], &from[i]);
}

/* MPICH 4.0.2 compares MPI_UINT64_T as if it were signed (MPI_MAX of 1 and 2^64 - 1 gives 1), so
 * haul has its own maxima and minima. */
static void merge_max(void *in, void *into, int *count, MPI_Datatype *type)
{
	const uint64_t *from = in;
	uint64_t *to = into;

	(void)type;
	for (int i = 0; i < *count; i++)
		if (from[i] > to[i])
			to[i] = from[i];
}

static void merge_min(void *in, void *into, int *count, MPI_Datatype *type)
{
	const uint64_t *from = in;
	uint64_t *to = into;

	(void)type;
	for (int i = 0; i < *count; i++)
		if (from[i] < to[i])
			to[i] = from[i];
}

int mpi_group_own(MPI_Comm comm, const struct waiting *how, struct group **out, struct err *err)
{
	struct mpi_group *m = calloc(1, sizeof(*m));
	int rank, size;

	if (!m)
		return err_set(err, -ENOMEM, "no memory for a group of ranks");
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	m->base = (struct group){
		.ops = &mpi_group_ops, .rank = (uint32_t)rank, .size = (uint32_t)size};
	m->comm = comm;
	m->waiting = *how;
	MPI_Type_contiguous(STATUS_WORDS, MPI_UINT64_T, &m->status_type);
	MPI_Type_commit(&m->status_type);
	MPI_Op_create(merge_status, 1, &m->status_op);
	MPI_Op_create(merge_max, 1, &m->max_op);
	MPI_Op_create(merge_min, 1, &m->min_op);
#if MPI_VERSION >= 4
	MPI_Allreduce_init(&m->mine, &m->merged, 1, m->status_type, m->status_op, comm,
			   MPI_INFO_NULL, &m->status_request);
#endif
	*out = &m->base;
	return 0;
}

int mpi_group_world(struct group **out, struct err *err)
{
	struct waiting patient = {.patient = true};
	MPI_Comm comm;
	MPI_Request request;

	MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
	wait_for(&request, &patient, "a first duplicate of all ranks");
	return mpi_group_own(comm, &patient, out, err);
}

/* A group made from another inherits how it waits and the names of its ranks. */
static int group_from(const struct group *g, MPI_Comm comm, struct group **out, struct err *err)
{
	int rc = mpi_group_own(comm, &mpi_group_of(g)->waiting, out, err);

	if (rc == 0) {
		(*out)->label = g->label;
		mpi_group_of(*out)->stop_told = mpi_group_of(g)->stop_told;
		mpi_group_of(*out)->told_argument = mpi_group_of(g)->told_argument;
	}
	return rc;
}

int mpi_group_node(struct group *world, uint32_t parts, struct group **out, struct err *err)
{
	MPI_Comm machine, part;
	int rank, size;

	MPI_Comm_split_type(mpi_group_of(world)->comm, MPI_COMM_TYPE_SHARED, (int)world->rank,
			    MPI_INFO_NULL, &machine);
	if (parts <= 1)
		return group_from(world, machine, out, err);
	MPI_Comm_rank(machine, &rank);
	MPI_Comm_size(machine, &size);
	MPI_Comm_split(machine, (int)((uint64_t)rank * parts / (uint64_t)size), rank, &part);
	MPI_Comm_free(&machine);
	return group_from(world, part, out, err);
}

void mpi_group_set_node_status(struct group *g, struct node_status *node_status)
{
	mpi_group_of(g)->node_status = node_status;
}

void mpi_group_set_stop_asked(struct group *g, uint64_t (*asked)(void *argument), void *argument)
{
	mpi_group_of(g)->stop_asked = asked;
	mpi_group_of(g)->stop_argument = argument;
}

void mpi_group_set_watched(struct group *g, void (*heard)(void *argument, uint64_t reason),
			   void *argument, _Atomic uint64_t *beat)
{
	struct mpi_group *m = mpi_group_of(g);

	m->stop_told = heard;
	m->told_argument = argument;
	m->waiting.beat = beat;
}

static void group_tell(const struct mpi_group *m, uint64_t reason)
{
	if (reason && m->stop_told)
		m->stop_told(m->told_argument, reason);
}

void mpi_group_set_patient(struct group *g, bool patient)
{
	mpi_group_of(g)->waiting.patient = patient;
}

void mpi_group_set_log(struct group *g, const struct log *log, uint64_t after_ns)
{
	mpi_group_of(g)->waiting.log = log;
	mpi_group_of(g)->waiting.say_after_ns = after_ns;
}

const void *mpi_group_comm(const struct group *g)
{
	return &mpi_group_of(g)->comm;
}

static MPI_Op merge_op(const struct group *g, enum merge merge)
{
	return merge == MERGE_SUM   ? MPI_SUM
	       : merge == MERGE_MAX ? mpi_group_of(g)->max_op
				    : mpi_group_of(g)->min_op;
}

static int mpi_allreduce(struct group *g, enum merge merge, uint64_t *words, size_t n)
{
	MPI_Request request;

	MPI_Iallreduce(MPI_IN_PLACE, words, (int)n, MPI_UINT64_T, merge_op(g, merge),
		       mpi_group_of(g)->comm, &request);
	wait_for(&request, &mpi_group_of(g)->waiting, "an all-reduce");
	return 0;
}

static int mpi_reduce(struct group *g, enum merge merge, uint64_t *words, size_t n)
{
	MPI_Request request;

	if (g->rank == 0)
		MPI_Ireduce(MPI_IN_PLACE, words, (int)n, MPI_UINT64_T, merge_op(g, merge), 0,
			    mpi_group_of(g)->comm, &request);
	else
		MPI_Ireduce(words, NULL, (int)n, MPI_UINT64_T, merge_op(g, merge), 0,
			    mpi_group_of(g)->comm, &request);
	wait_for(&request, &mpi_group_of(g)->waiting, "a reduction");
	return 0;
}

static int mpi_broadcast(struct group *g, void *data, size_t bytes)
{
	MPI_Request request;

	if (bytes > INT_MAX)
		return -EMSGSIZE;
	MPI_Ibcast(data, (int)bytes, MPI_BYTE, 0, mpi_group_of(g)->comm, &request);
	wait_for(&request, &mpi_group_of(g)->waiting, "a broadcast");
	return 0;
}

static int mpi_gather(struct group *g, const void *record, size_t bytes, void *all)
{
	MPI_Request request;

	MPI_Igather(record, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0,
		    mpi_group_of(g)->comm, &request);
	wait_for(&request, &mpi_group_of(g)->waiting, "a gather");
	return 0;
}

static int mpi_scatter(struct group *g, const void *all, size_t bytes, void *record)
{
	MPI_Request request;

	MPI_Iscatter(all, (int)bytes, MPI_BYTE, record, (int)bytes, MPI_BYTE, 0,
		     mpi_group_of(g)->comm, &request);
	wait_for(&request, &mpi_group_of(g)->waiting, "a scatter");
	return 0;
}

static int mpi_send(struct group *g, uint32_t to, const void *data, size_t bytes)
{
	MPI_Request request;

	MPI_Isend(data, (int)bytes, MPI_BYTE, (int)to, GROUP_TAG, mpi_group_of(g)->comm, &request);
	wait_for(&request, &mpi_group_of(g)->waiting, "a message to another");
	return 0;
}

static int mpi_receive(struct group *g, uint32_t from, void *data, size_t bytes)
{
	MPI_Request request;

	MPI_Irecv(data, (int)bytes, MPI_BYTE, (int)from, GROUP_TAG, mpi_group_of(g)->comm,
		  &request);
	wait_for(&request, &mpi_group_of(g)->waiting, "a message from another");
	return 0;
}

static bool mpi_arrived(struct group *g, uint32_t from)
{
	return wait_probe((int)from, GROUP_TAG, mpi_group_of(g)->comm, NULL);
}

static int letters_open(struct mpi_group *m)
{
	m->letters = calloc(GROUP_CHANNELS, sizeof(*m->letters));
	if (!m->letters)
		return -EAGAIN;
	for (uint32_t channel = 0; channel < GROUP_CHANNELS; channel++)
		for (uint32_t i = 0; i < GROUP_LETTERS; i++)
			m->letters[channel].sent[i] = MPI_REQUEST_NULL;
	return 0;
}

static int mpi_post(struct group *g, uint32_t to, uint32_t channel, const void *data, size_t bytes)
{
	struct mpi_group *m = mpi_group_of(g);
	struct mpi_letters *l;

	if (to >= g->size || channel >= GROUP_CHANNELS || bytes > GROUP_LETTER_BYTES)
		return -EINVAL;
	if (!m->letters && letters_open(m) < 0)
		return -EAGAIN;
	l = &m->letters[channel];
	if (!wait_test(&l->sent[l->next]))
		return -EAGAIN;
	memcpy(l->data[l->next], data, bytes);
	MPI_Isend(l->data[l->next], (int)bytes, MPI_BYTE, (int)to, GROUP_LETTER_TAG + (int)channel,
		  m->comm, &l->sent[l->next]);
	l->next = (l->next + 1) % GROUP_LETTERS;
	return 0;
}

static int mpi_take(struct group *g, uint32_t channel, uint32_t *from, void *data, size_t bytes)
{
	struct mpi_group *m = mpi_group_of(g);
	MPI_Message message;
	MPI_Request request;
	MPI_Status status;
	int arrived;

	MPI_Improbe(MPI_ANY_SOURCE, GROUP_LETTER_TAG + (int)channel, m->comm, &arrived, &message,
		    &status);
	if (!arrived)
		return 0;
	MPI_Imrecv(data, (int)bytes, MPI_BYTE, &message, &request);
	wait_for(&request, &m->waiting, "a letter that has arrived");
	*from = (uint32_t)status.MPI_SOURCE;
	return 1;
}

static void letters_close(struct mpi_group *m)
{
	for (uint32_t channel = 0; m->letters && channel < GROUP_CHANNELS; channel++)
		for (uint32_t i = 0; i < GROUP_LETTERS; i++)
			wait_for(&m->letters[channel].sent[i], &m->waiting, "a letter to another");
	free(m->letters);
}

static int mpi_split(struct group *g, uint32_t color, struct group **out, struct err *err)
{
	MPI_Comm comm;

	MPI_Comm_split(mpi_group_of(g)->comm, (int)color, (int)g->rank, &comm);
	return group_from(g, comm, out, err);
}

static int mpi_shared(struct group *g, size_t bytes, void **out, struct err *err)
{
	struct mpi_group *m = mpi_group_of(g);
	struct mpi_block *block = &m->blocks[m->block_count];
	MPI_Aint size;
	int unit;

	if (m->block_count == GROUP_BLOCKS_MAX)
		return err_set(err, -ENOSPC, "too many shared blocks");
	block->window = MPI_WIN_NULL;
	if (g->size == 1) {
		block->memory = calloc(1, bytes);
		if (!block->memory)
			return err_set(err, -ENOMEM, "no memory for a shared block of %zu bytes",
				       bytes);
	} else {
		/* Fresh shared memory consists of zero pages, because MPICH maps a new file. */
		MPI_Win_allocate_shared(g->rank ? 0 : (MPI_Aint)bytes, 1, MPI_INFO_NULL, m->comm,
					&block->memory, &block->window);
		MPI_Win_shared_query(block->window, 0, &size, &unit, &block->memory);
	}
	m->block_count++;
	*out = block->memory;
	return group_barrier(g);
}

static uint64_t stop_from_outside(const struct mpi_group *m)
{
	return m->stop_asked ? m->stop_asked(m->stop_argument) : 0;
}

static void mpi_status_post(struct group *g, const struct status *mine)
{
	struct mpi_group *m = mpi_group_of(g);
	uint64_t asked = stop_from_outside(m);

	m->status_busy = true;
	m->mine = *mine;
	if (asked > m->mine.stop)
		m->mine.stop = asked;
	if (m->node_status) {
		node_status_post(m->node_status, &m->mine);
		return;
	}
	m->mine.arrived_ns = 0; /* the ranks' clocks are not aligned here */
#if MPI_VERSION >= 4
	/* The reduction is set up once (persistent), which saves a third of the time of each
	 * round. */
	MPI_Start(&m->status_request);
#else
	MPI_Iallreduce(&m->mine, &m->merged, 1, m->status_type, m->status_op, m->comm,
		       &m->status_request);
#endif
}

/* Messages that this rank sent before may still need MPI progress, which node_status does not
 * make. */
static bool status_look(struct mpi_group *m)
{
	if (!m->node_status)
		return wait_test(&m->status_request);
	node_status_watch(m->node_status, clock_kernel_ns());
	if (node_status_look(m->node_status, &m->merged))
		return true;
	wait_probe(MPI_ANY_SOURCE, MPI_ANY_TAG, m->comm, NULL);
	return false;
}

static bool status_done(void *group)
{
	struct mpi_group *m = group;

	m->status_busy = !status_look(m);
	return !m->status_busy;
}

static bool mpi_status_test(struct group *g, struct status *merged)
{
	struct mpi_group *m = mpi_group_of(g);

	wait_beat(&m->waiting);
	if (!m->status_busy)
		return false;
	if (!status_done(m))
		return false;
	*merged = m->merged;
	group_tell(m, merged->stop);
	return true;
}

static void mpi_status_wait(struct group *g, struct status *merged)
{
	struct mpi_group *m = mpi_group_of(g);

	if (m->node_status) {
		node_status_wait(m->node_status, &m->waiting, &m->merged);
		m->status_busy = false;
	} else {
		wait_until(status_done, m, &m->waiting, "a status round");
	}
	*merged = m->merged;
	group_tell(m, merged->stop);
}

static void mpi_stop_tell(struct group *g, uint64_t reason)
{
	struct mpi_group *m = mpi_group_of(g);

	if (m->node_status)
		node_status_stop_tell(m->node_status, reason);
	else if (reason > m->stop)
		m->stop = reason;
}

static uint64_t mpi_stop_heard(struct group *g)
{
	struct mpi_group *m = mpi_group_of(g);
	uint64_t heard = m->node_status ? node_status_stop_heard(m->node_status) : m->stop;
	uint64_t asked = stop_from_outside(m);

	heard = asked > heard ? asked : heard;
	wait_beat(&m->waiting);
	group_tell(m, heard);
	return heard;
}

static void mpi_wait_tell(struct group *g, const struct group_wait *wait)
{
	struct mpi_group *m = mpi_group_of(g);

	if (m->node_status)
		node_watch_tell(&m->node_status->watch, wait);
}

static void mpi_free(struct group *g)
{
	struct mpi_group *m = mpi_group_of(g);

	if (m->status_busy)
		wait_until(status_done, m, &m->waiting, "a status round");
	letters_close(m);
	while (m->block_count) {
		struct mpi_block *block = &m->blocks[--m->block_count];

		if (block->window != MPI_WIN_NULL)
			MPI_Win_free(&block->window);
		else
			free(block->memory);
	}
#if MPI_VERSION >= 4
	MPI_Request_free(&m->status_request);
#endif
	MPI_Type_free(&m->status_type);
	MPI_Op_free(&m->status_op);
	MPI_Op_free(&m->max_op);
	MPI_Op_free(&m->min_op);
	MPI_Comm_free(&m->comm);
	free(m);
}

static const struct group_ops mpi_group_ops = {
	.allreduce = mpi_allreduce,
	.reduce = mpi_reduce,
	.broadcast = mpi_broadcast,
	.gather = mpi_gather,
	.scatter = mpi_scatter,
	.send = mpi_send,
	.receive = mpi_receive,
	.arrived = mpi_arrived,
	.post = mpi_post,
	.take = mpi_take,
	.split = mpi_split,
	.shared = mpi_shared,
	.status_post = mpi_status_post,
	.status_test = mpi_status_test,
	.status_wait = mpi_status_wait,
	.stop_tell = mpi_stop_tell,
	.stop_heard = mpi_stop_heard,
	.wait_tell = mpi_wait_tell,
	.free = mpi_free,
};
