#include "ranks/mpi/node_status.h"

#include <stdatomic.h>
#include <string.h>

/* Keeps what stands before it and behind off the same cache lines, and pairs of lines, wherever the block
 * begins. */
enum { APART_BYTES = 128 };

struct node_status_seat {
	struct status message;
	char apart[APART_BYTES];
};

/* Counts only grow. A rank posts round r + 1 only after it has read round r, so nothing is overwritten
 * that somebody still has to read. */
struct node_status_board {
	_Atomic uint64_t posts; /* of all ranks and rounds */
	char apart_posts[APART_BYTES];
	_Atomic uint64_t gathered; /* rounds whose words of this node are merged */
	struct status here;
	char apart_here[APART_BYTES];
	_Atomic uint64_t complete; /* rounds whose words of all nodes are */
	struct status everywhere;
	char apart_everywhere[APART_BYTES];
	struct node_status_seat seats[]; /* one for each rank of the node */
};

int node_status_open(struct node_status *m, struct group *node, struct group *leaders,
		     uint32_t count, struct err *err)
{
	void *board;
	int rc;

	memset(m, 0, sizeof(*m));
	rc = group_shared(node, sizeof(*m->board) + node->size * sizeof(m->board->seats[0]), &board,
			  err);
	if (rc < 0)
		return err_wrap(err, rc, "status rounds");
	m->board = board;
	m->rank = node->rank;
	m->size = node->size;
	m->alone = count == 1;
	m->leaders = m->alone ? NULL : leaders;
	return 0;
}

static void complete(struct node_status *m, const struct status *everywhere)
{
	m->board->everywhere = *everywhere;
	atomic_store_explicit(&m->board->complete, m->round, memory_order_release);
}

/* The last rank of the node to come. */
static void gather(struct node_status *m)
{
	struct node_status_board *b = m->board;
	struct status here = b->seats[0].message;

	for (uint32_t i = 1; i < m->size; i++)
		status_merge(&here, &b->seats[i].message);
	if (m->alone) {
		complete(m, &here);
		return;
	}
	b->here = here;
	atomic_store_explicit(&b->gathered, m->round, memory_order_release);
}

/* The first rank of a node among several: from its node to the others', and back. */
static void carry(struct node_status *m)
{
	struct status everywhere;

	if (!m->carried) {
		if (atomic_load_explicit(&m->board->gathered, memory_order_acquire) != m->round)
			return;
		group_status_post(m->leaders, &m->board->here);
		m->carried = true;
	}
	if (!group_status_test(m->leaders, &everywhere))
		return;
	m->carried = false;
	complete(m, &everywhere);
}

void node_status_post(struct node_status *m, const struct status *mine)
{
	struct node_status_board *b = m->board;

	m->round++;
	b->seats[m->rank].message = *mine;
	if (atomic_fetch_add_explicit(&b->posts, 1, memory_order_acq_rel) + 1 == m->round * m->size)
		gather(m);
	if (m->leaders)
		carry(m);
}

bool node_status_look(struct node_status *m, struct status *merged)
{
	if (m->leaders &&
	    atomic_load_explicit(&m->board->complete, memory_order_relaxed) != m->round)
		carry(m);
	if (atomic_load_explicit(&m->board->complete, memory_order_acquire) != m->round)
		return false;
	*merged = m->board->everywhere;
	return true;
}
