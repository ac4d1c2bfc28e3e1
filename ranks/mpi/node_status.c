/* SPDX-License-Identifier: Apache-2.0 */
/* Status rounds of a group that spans nodes: see node_status.h. */
#include "ranks/mpi/node_status.h"

#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "core/clock.h"
#include "core/clock_wait.h"

/* Keeps neighbours off the same cache lines and pairs of lines, wherever the block begins. */
enum { APART_BYTES = 128 };
/* How often a sleeper wakes up by itself, to report that it waits and to let MPI make progress. */
enum { STATUS_SLEEP_NS = 10000000 };

struct node_status_seat {
	struct status message;
	char apart[APART_BYTES];
};

/* A number of rounds on which ranks may sleep: a futex is 32 bits wide. */
struct node_status_count {
	_Atomic uint32_t rounds;
	_Atomic uint32_t sleepers;
};

/* Counts only grow. A rank posts round r + 1 only after it has read round r, so nothing is
 * overwritten that another rank still has to read. */
struct node_status_board {
	_Atomic uint64_t posts; /* posts of all ranks and rounds */
	char apart_posts[APART_BYTES];
	/* number of rounds in which the words of this node are merged */
	struct node_status_count gathered;
	struct status here;
	char apart_here[APART_BYTES];
	/* number of rounds in which the words of all nodes are merged */
	struct node_status_count complete;
	struct status everywhere;
	char apart_everywhere[APART_BYTES];
	_Atomic uint64_t stop; /* the largest reason that was told */
	char apart_stop[APART_BYTES];
	struct node_status_seat seats[]; /* one per rank of the node */
};

static bool count_reached(const struct node_status_count *c, uint64_t round)
{
	return atomic_load_explicit(&c->rounds, memory_order_acquire) == (uint32_t)round;
}

static void count_reach(struct node_status_count *c, uint64_t round)
{
	atomic_store(&c->rounds, (uint32_t)round);
	if (atomic_load(&c->sleepers))
		clock_word_wake(&c->rounds, UINT32_MAX, true);
}

/* Sleeps until the count differs from the previous round's, or for a while. */
static void count_sleep(struct node_status_count *c, uint64_t round)
{
	atomic_fetch_add(&c->sleepers, 1);
	clock_word_wait(&c->rounds, (uint32_t)round - 1, STATUS_SLEEP_NS, true);
	atomic_fetch_sub(&c->sleepers, 1);
}

int node_status_open(struct node_status *m, struct group *node, struct group *leaders,
		     const void *comm, uint32_t count, struct err *err)
{
	bool leads;
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
	leads = leaders && !m->alone;
	wait_share_init(&m->share, leads && node->size > 1 ? node->size / 2 : 1, false,
			clock_kernel_ns());
	if (leads)
		rc = leader_link_open(&m->link, leaders, comm, err);
	rc = group_agree(node, rc, err);
	if (rc == 0)
		rc = node_watch_open(&m->watch, node, leaders, m->link, err);
	if (rc == 0 && leads)
		status_tree_init(&m->tree, leader_link_tree(m->link), leaders->rank, leaders->size);
	return rc;
}

void node_status_close(struct node_status *m)
{
	leader_link_close(m->link);
	node_watch_close(&m->watch);
	m->link = NULL;
}

void node_status_set_crowded(struct node_status *m, bool crowded)
{
	m->share.crowded = crowded;
}

static void status_complete(struct node_status *m, const struct status *everywhere)
{
	m->board->everywhere = *everywhere;
	count_reach(&m->board->complete, m->round);
}

/* Called by the last rank of the node that posts. */
static void status_gather(struct node_status *m)
{
	struct node_status_board *b = m->board;
	struct status here = b->seats[0].message;

	for (uint32_t i = 1; i < m->size; i++)
		status_merge(&here, &b->seats[i].message);
	if (m->alone) {
		status_complete(m, &here);
		return;
	}
	b->here = here;
	count_reach(&b->gathered, m->round);
}

/* Called by the first rank of a node among several: carries the round from its node to the others,
 * and back. */
static void status_carry(struct node_status *m)
{
	struct status everywhere;

	if (!m->carried) {
		if (!count_reached(&m->board->gathered, m->round))
			return;
		status_tree_post(&m->tree, &m->board->here);
		m->carried = true;
	}
	if (status_tree_poll(&m->tree, &everywhere)) {
		m->carried = false;
		status_complete(m, &everywhere);
	}
	leader_link_ring(m->link);
}

void node_status_post(struct node_status *m, const struct status *mine)
{
	struct node_status_board *b = m->board;
	struct status *seat = &b->seats[m->rank].message;

	m->round++;
	*seat = *mine;
	if (seat->arrived_ns)
		seat->arrived_ns += (uint64_t)m->offset_ns;
	if (atomic_fetch_add_explicit(&b->posts, 1, memory_order_acq_rel) + 1 == m->round * m->size)
		status_gather(m);
	if (m->link) {
		uint64_t now_ns = clock_kernel_ns();

		leader_link_looks(m->link, now_ns, wait_share_looks(&m->share, now_ns));
		status_carry(m);
	}
}

bool node_status_look(struct node_status *m, struct status *merged)
{
	if (m->link && !count_reached(&m->board->complete, m->round))
		status_carry(m);
	if (!count_reached(&m->board->complete, m->round))
		return false;
	*merged = m->board->everywhere;
	if (merged->arrived_ns)
		merged->arrived_ns -= (uint64_t)m->offset_ns;
	return true;
}

/* The naps of a wait, and what they cost. */
struct status_naps {
	uint64_t count;
	uint64_t processor_ns; /* of this thread, when the first nap began */
};

/* Called after a look in vain. A leader whose node is complete looks for messages, and may be woken
 * by a neighbour; all others are woken by a futex. */
static void status_rest(struct node_status *m, uint64_t now_ns, struct status_naps *naps)
{
	struct wait_nap nap = wait_share_nap(&m->share, now_ns);

	if (!nap.ns) {
		sched_yield();
		return;
	}
	if (m->link && m->carried) {
		/* The next look tests for messages, which is progress for those sent before. */
		if (!naps->count++)
			naps->processor_ns = clock_thread_cpu_ns();
		wait_share_napped(&m->share, leader_link_nap(m->link, &nap));
		return;
	}
	/* Messages that this rank sent before may still need MPI progress. */
	wait_probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, NULL);
	count_sleep(m->link ? &m->board->gathered : &m->board->complete, m->round);
}

/* What this node knows of, and what its neighbours have heard of. */
static uint64_t status_stop(struct node_status *m)
{
	uint64_t here = atomic_load_explicit(&m->board->stop, memory_order_relaxed), heard;

	if (!m->link)
		return here;
	heard = leader_link_stop(m->link, here);
	if (heard > here)
		atomic_store(&m->board->stop, heard);
	return heard;
}

void node_status_watch(struct node_status *m, uint64_t now_ns)
{
	if (node_watch_poll(&m->watch, now_ns))
		status_stop(m);
}

void node_status_wait(struct node_status *m, struct waiting *how, struct status *merged)
{
	struct waiting_slow slow = {0};
	struct status_naps naps = {0};
	uint64_t now_ns, begun_ns, ended_ns;

	if (node_status_look(m, merged))
		return;
	now_ns = clock_kernel_ns();
	begun_ns = clock_thread_cpu_ns();
	wait_share_begin(&m->share, now_ns);
	while (!node_status_look(m, merged)) {
		status_rest(m, now_ns, &naps);
		now_ns = clock_kernel_ns();
		wait_beat(how);
		node_status_watch(m, now_ns);
		wait_say_slow(how, "a status round", &slow, now_ns);
	}
	ended_ns = clock_thread_cpu_ns();
	if (naps.count)
		wait_share_learn(&m->share, naps.count, ended_ns - naps.processor_ns);
	wait_share_end(&m->share, clock_kernel_ns(), ended_ns - begun_ns);
}

void node_status_stop_tell(struct node_status *m, uint64_t reason)
{
	_Atomic uint64_t *stop = &m->board->stop;
	uint64_t old = atomic_load(stop);

	while (old < reason && !atomic_compare_exchange_weak(stop, &old, reason))
		;
	if (m->link)
		status_stop(m);
}

uint64_t node_status_stop_heard(struct node_status *m)
{
	node_watch_poll(&m->watch, clock_kernel_ns());
	return status_stop(m);
}
