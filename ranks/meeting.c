#include "ranks/meeting.h"

#include <stdatomic.h>
#include <string.h>

/* One rank's words, on lines of its own. */
struct meeting_seat {
	_Alignas(128) struct status said;
};

/* Counts only grow. A rank posts round r + 1 only after it has read round r, so nothing is overwritten
 * that somebody still has to read. */
struct meeting_board {
	_Alignas(128) _Atomic uint64_t posts;    /* of all ranks and rounds */
	_Alignas(128) _Atomic uint64_t gathered; /* rounds whose words of this node are merged */
	struct status here;
	_Alignas(128) _Atomic uint64_t complete; /* rounds whose words of all nodes are */
	struct status everywhere;
	struct meeting_seat seats[];
};

/* MPI's user function. */
static void merge(void *in, void *into, int *count, MPI_Datatype *type)
{
	const struct status *from = in;
	struct status *to = into;

	(void)type;
	for (int i = 0; i < *count; i++)
		status_merge(&to[i], &from[i]);
}

void meeting_cut(MPI_Comm comm, uint32_t parts, MPI_Comm *node)
{
	MPI_Comm machine;
	int rank, size;

	MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
	if (parts <= 1) {
		*node = machine;
		return;
	}
	MPI_Comm_rank(machine, &rank);
	MPI_Comm_size(machine, &size);
	MPI_Comm_split(machine, (int)((uint64_t)rank * parts / (uint64_t)size), rank, node);
	MPI_Comm_free(&machine);
}

/* The first ranks of the nodes, unless there is one node. */
static void open_leaders(struct meeting *m, MPI_Comm comm)
{
	int all, rank;

	MPI_Comm_size(comm, &all);
	MPI_Comm_rank(comm, &rank);
	m->alone = m->size == (uint32_t)all;
	if (m->alone)
		return;
	MPI_Comm_split(comm, m->rank ? MPI_UNDEFINED : 0, rank, &m->leaders);
	if (m->rank)
		return;
	MPI_Type_contiguous(STATUS_WORDS, MPI_UINT64_T, &m->type);
	MPI_Type_commit(&m->type);
	MPI_Op_create(merge, 1, &m->op);
#if MPI_VERSION >= 4
	MPI_Allreduce_init(&m->mine, &m->merged, 1, m->type, m->op, m->leaders, MPI_INFO_NULL,
			   &m->request);
#endif
}

void meeting_open(struct meeting *m, MPI_Comm comm, uint32_t parts)
{
	int rank, size, unit;
	MPI_Aint bytes;

	memset(m, 0, sizeof(*m));
	m->leaders = MPI_COMM_NULL;
	meeting_cut(comm, parts, &m->node);
	MPI_Comm_rank(m->node, &rank);
	MPI_Comm_size(m->node, &size);
	m->rank = (uint32_t)rank;
	m->size = (uint32_t)size;
	/* Fresh shared memory is zero pages; of a rank alone MPICH allocates plain memory. */
	bytes = (MPI_Aint)(sizeof(*m->board) + m->size * sizeof(m->board->seats[0]));
	MPI_Win_allocate_shared(rank ? 0 : bytes, 1, MPI_INFO_NULL, m->node, &m->board, &m->window);
	MPI_Win_shared_query(m->window, 0, &bytes, &unit, &m->board);
	if (m->size == 1)
		memset(m->board, 0, (size_t)bytes);
	open_leaders(m, comm);
}

void meeting_close(struct meeting *m)
{
	if (m->leaders != MPI_COMM_NULL) {
#if MPI_VERSION >= 4
		MPI_Request_free(&m->request);
#endif
		MPI_Op_free(&m->op);
		MPI_Type_free(&m->type);
		MPI_Comm_free(&m->leaders);
	}
	MPI_Win_free(&m->window);
	MPI_Comm_free(&m->node);
}

static void complete(struct meeting *m, const struct status *everywhere)
{
	m->board->everywhere = *everywhere;
	atomic_store_explicit(&m->board->complete, m->round, memory_order_release);
}

/* The last rank of the node to come. */
static void gather(struct meeting *m)
{
	struct meeting_board *b = m->board;
	struct status here = b->seats[0].said;

	for (uint32_t i = 1; i < m->size; i++)
		status_merge(&here, &b->seats[i].said);
	if (m->alone) {
		complete(m, &here);
		return;
	}
	b->here = here;
	atomic_store_explicit(&b->gathered, m->round, memory_order_release);
}

/* The first rank of a node among several: from its node to the others', and back. */
static void carry(struct meeting *m)
{
	int done;

	if (!m->carried) {
		if (atomic_load_explicit(&m->board->gathered, memory_order_acquire) != m->round)
			return;
		m->mine = m->board->here;
#if MPI_VERSION >= 4
		MPI_Start(&m->request);
#else
		MPI_Iallreduce(&m->mine, &m->merged, 1, m->type, m->op, m->leaders, &m->request);
#endif
		m->carried = true;
	}
	MPI_Test(&m->request, &done, MPI_STATUS_IGNORE);
	if (!done)
		return;
	m->carried = false;
	complete(m, &m->merged);
}

void meeting_post(struct meeting *m, const struct status *mine)
{
	struct meeting_board *b = m->board;

	m->round++;
	b->seats[m->rank].said = *mine;
	if (atomic_fetch_add_explicit(&b->posts, 1, memory_order_acq_rel) + 1 == m->round * m->size)
		gather(m);
	if (m->leaders != MPI_COMM_NULL)
		carry(m);
}

bool meeting_look(struct meeting *m, struct status *merged)
{
	if (m->leaders != MPI_COMM_NULL &&
	    atomic_load_explicit(&m->board->complete, memory_order_relaxed) != m->round)
		carry(m);
	if (atomic_load_explicit(&m->board->complete, memory_order_acquire) != m->round)
		return false;
	*merged = m->board->everywhere;
	return true;
}
