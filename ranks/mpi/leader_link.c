/* SPDX-License-Identifier: Apache-2.0 */
/* Leader link: see leader_link.h. */
#include "ranks/mpi/leader_link.h"

#include <errno.h>
#include <mpi.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/stop.h"
#include "ranks/mpi/doorbell.h"
#include "ranks/mpi/wait.h"

enum { LINK_PEERS = 1 + STATUS_TREE_FAN_OUT };
enum { LINK_TAG_STATUS = 11, LINK_TAG_STOP = 12, LINK_TAG_DOORBELL = 13 };
enum { LINK_NOTES = 8 };
#define LINK_NOTE UINT64_MAX

/* A message beside the rounds: a reason to stop alone, or LINK_NOTE and a note. */
struct link_message {
	uint64_t reason;
	struct stall_note note;
};

struct link_note {
	struct link_message message;
	MPI_Request send;
};

/* A message of a round. */
struct link_status {
	struct status status;
	uint64_t looks_ns; /* for how long the sender will look for messages without a nap */
};
_Static_assert(sizeof(struct link_status) == 8 * (STATUS_WORDS + 1), "a plain array");

struct link_peer {
	uint32_t rank;
	struct link_status in, out;
	MPI_Request receive, send;
	bool sending;
	bool parted; /* its last message has come: nothing follows */
	struct doorbell_address doorbell;
	bool ring;         /* a message was sent, its doorbell has not been rung */
	uint64_t taken;    /* the latest round whose message has come */
	uint64_t taken_ns; /* when that was */
	uint64_t looks_ns; /* as that message says */
};

struct leader_link {
	struct status_link tree;
	MPI_Comm comm;
	uint32_t rank, peer_count;
	/* the parent, where there is one, followed by the children */
	struct link_peer peers[LINK_PEERS];
	uint64_t stop, stop_sent; /* the largest reason known, and the largest that was passed on */
	/* A buffer must not change until its message has been taken, so each reason has one. */
	uint64_t stop_out[STOP_ERROR + 1];
	struct link_note notes[LINK_NOTES]; /* on their way */
	void (*heard)(void *argument, uint32_t from, const struct stall_note *note);
	void *argument;
	struct doorbell doorbell;
	uint64_t round;             /* from 1 */
	uint64_t looks_ns, told_ns; /* for how long this leader looks, and since when */
};

static struct link_peer *link_find(struct leader_link *l, uint32_t rank)
{
	for (uint32_t i = 0; i < l->peer_count; i++)
		if (l->peers[i].rank == rank)
			return &l->peers[i];
	return NULL;
}

static void link_heard(struct leader_link *l, struct link_peer *p, const struct link_message *m)
{
	uint64_t reason = m->reason;

	if (reason == LINK_NOTE) {
		if (l->heard)
			l->heard(l->argument, p->rank, &m->note);
		return;
	}
	p->parted = p->parted || reason == STOP_NONE;
	l->stop = reason > l->stop ? reason : l->stop;
}

static void link_begin(void *argument)
{
	struct leader_link *l = argument;

	l->round++;
	for (uint32_t i = 0; i < l->peer_count; i++) {
		struct link_peer *p = &l->peers[i];

		/* The neighbour has answered the previous round, so this message has long
		 * arrived. */
		if (p->sending)
			MPI_Wait(&p->send, MPI_STATUS_IGNORE);
		p->sending = false;
		MPI_Start(&p->receive);
	}
}

/* Whether to ring the neighbour to which s is sent. For how long the parent looks is not known yet
 * in this round. */
static bool link_rings(const struct leader_link *l, const struct link_peer *p,
		       const struct status *s, uint64_t now_ns)
{
	if (p->taken != l->round)
		return p->looks_ns != WAIT_NEVER_LISTENS;
	return wait_share_rings(p->looks_ns, now_ns - p->taken_ns, p->in.status.arrived_ns,
				s->arrived_ns);
}

/* For how long this leader still looks without a nap. */
static uint64_t link_looks(const struct leader_link *l, uint64_t now_ns)
{
	uint64_t past_ns = now_ns - l->told_ns;

	if (l->looks_ns == WAIT_NEVER_LISTENS)
		return WAIT_NEVER_LISTENS;
	return l->looks_ns > past_ns ? l->looks_ns - past_ns : 0;
}

static void link_send(void *argument, uint32_t to, const struct status *s)
{
	struct leader_link *l = argument;
	struct link_peer *p = link_find(l, to);
	uint64_t now_ns = clock_kernel_ns();

	p->out.status = *s;
	p->out.looks_ns = link_looks(l, now_ns);
	MPI_Start(&p->send);
	p->sending = true;
	p->ring = link_rings(l, p, s, now_ns);
}

static bool link_receive(void *argument, uint32_t from, struct status *s)
{
	struct leader_link *l = argument;
	struct link_peer *p = link_find(l, from);

	if (!wait_test(&p->receive))
		return false;
	*s = p->in.status;
	p->taken = l->round;
	p->taken_ns = clock_kernel_ns();
	p->looks_ns = p->in.looks_ns;
	return true;
}

void leader_link_looks(struct leader_link *l, uint64_t now_ns, uint64_t looks_ns)
{
	l->told_ns = now_ns;
	l->looks_ns = looks_ns;
}

void leader_link_ring(struct leader_link *l)
{
	const struct doorbell_call call = {.from = l->rank, .round = l->round};

	for (uint32_t i = 0; i < l->peer_count; i++) {
		struct link_peer *p = &l->peers[i];

		if (p->ring)
			doorbell_ring(&l->doorbell, &p->doorbell, &call);
		p->ring = false;
	}
}

/* Takes all calls. Returns whether one of them announces a message that has not been taken. Others
 * are late: their messages were found without them. */
static bool link_rung(struct leader_link *l)
{
	struct doorbell_call call;
	bool rung = false;

	while (doorbell_take(&l->doorbell, &call)) {
		const struct link_peer *p = link_find(l, call.from);

		rung = rung || (p && call.round == l->round && p->taken != l->round);
	}
	return rung;
}

bool leader_link_nap(struct leader_link *l, const struct wait_nap *nap)
{
	const struct doorbell nobody = {.fd = -1};
	bool rung;

	if (!nap->listens) {
		doorbell_sleep(&nobody, nap->ns);
		return false;
	}
	if (link_rung(l))
		return true;
	rung = doorbell_sleep(&l->doorbell, nap->ns);
	link_rung(l);
	return rung;
}

static void link_add(struct leader_link *l, uint32_t rank)
{
	struct link_peer *p = &l->peers[l->peer_count++];

	p->rank = rank;
	MPI_Recv_init(&p->in, STATUS_WORDS + 1, MPI_UINT64_T, (int)rank, LINK_TAG_STATUS, l->comm,
		      &p->receive);
	MPI_Send_init(&p->out, STATUS_WORDS + 1, MPI_UINT64_T, (int)rank, LINK_TAG_STATUS, l->comm,
		      &p->send);
}

/* Neighbours tell each other where their doorbells are. */
static void link_exchange_doorbells(struct leader_link *l)
{
	struct waiting how = {.patient = true};
	MPI_Request sends[LINK_PEERS], receives[LINK_PEERS];

	doorbell_open(&l->doorbell);
	for (uint32_t i = 0; i < l->peer_count; i++) {
		struct link_peer *p = &l->peers[i];

		MPI_Irecv(&p->doorbell, sizeof(p->doorbell), MPI_BYTE, (int)p->rank,
			  LINK_TAG_DOORBELL, l->comm, &receives[i]);
		MPI_Isend(&l->doorbell.address, sizeof(l->doorbell.address), MPI_BYTE, (int)p->rank,
			  LINK_TAG_DOORBELL, l->comm, &sends[i]);
	}
	for (uint32_t i = 0; i < l->peer_count; i++) {
		wait_for(&receives[i], &how, "the start of status rounds");
		wait_for(&sends[i], &how, "the start of status rounds");
	}
}

int leader_link_open(struct leader_link **out, struct group *leaders, const void *comm,
		     struct err *err)
{
	struct leader_link *l = calloc(1, sizeof(*l));
	uint32_t children = status_tree_children(leaders->rank, leaders->size);
	int rc = group_agree(leaders, l ? 0 : -ENOMEM, err);

	if (rc < 0) {
		free(l);
		return rc;
	}
	l->comm = *(const MPI_Comm *)comm;
	l->rank = leaders->rank;
	l->tree = (struct status_link){l, link_begin, link_send, link_receive};
	for (uint32_t i = 0; i < LINK_NOTES; i++)
		l->notes[i].send = MPI_REQUEST_NULL;
	if (leaders->rank)
		link_add(l, status_tree_parent(leaders->rank));
	for (uint32_t i = 0; i < children; i++)
		link_add(l, status_tree_first(leaders->rank) + i);
	link_exchange_doorbells(l);
	*out = l;
	return 0;
}

/* No message may stay in the communicator: whatever a neighbour sent comes before its last
 * message. */
static void link_part(struct leader_link *l)
{
	struct waiting how = {.patient = true};
	uint64_t farewell = STOP_NONE;
	struct link_message message;
	MPI_Request sends[LINK_PEERS], receive;

	l->heard = NULL;
	for (uint32_t i = 0; i < l->peer_count; i++)
		MPI_Isend(&farewell, sizeof(farewell), MPI_BYTE, (int)l->peers[i].rank,
			  LINK_TAG_STOP, l->comm, &sends[i]);
	for (uint32_t i = 0; i < l->peer_count; i++) {
		while (!l->peers[i].parted) {
			MPI_Irecv(&message, sizeof(message), MPI_BYTE, (int)l->peers[i].rank,
				  LINK_TAG_STOP, l->comm, &receive);
			wait_for(&receive, &how, "the end of status rounds");
			link_heard(l, &l->peers[i], &message);
		}
		wait_for(&sends[i], &how, "the end of status rounds");
	}
	for (uint32_t i = 0; i < LINK_NOTES; i++)
		wait_for(&l->notes[i].send, &how, "the end of status rounds");
}

void leader_link_close(struct leader_link *l)
{
	if (!l)
		return;
	link_part(l);
	for (uint32_t i = 0; i < l->peer_count; i++) {
		struct link_peer *p = &l->peers[i];

		if (p->sending)
			MPI_Wait(&p->send, MPI_STATUS_IGNORE);
		MPI_Request_free(&p->send);
		MPI_Request_free(&p->receive);
	}
	doorbell_close(&l->doorbell);
	free(l);
}

const struct status_link *leader_link_tree(const struct leader_link *l)
{
	return &l->tree;
}

static void link_take_messages(struct leader_link *l)
{
	MPI_Status from;
	struct link_message message;

	while (wait_probe(MPI_ANY_SOURCE, LINK_TAG_STOP, l->comm, &from)) {
		MPI_Recv(&message, sizeof(message), MPI_BYTE, from.MPI_SOURCE, LINK_TAG_STOP,
			 l->comm, MPI_STATUS_IGNORE);
		link_heard(l, link_find(l, (uint32_t)from.MPI_SOURCE), &message);
	}
}

uint64_t leader_link_stop(struct leader_link *l, uint64_t reason)
{
	MPI_Request request;

	l->stop = reason > l->stop ? reason : l->stop;
	link_take_messages(l);
	if (l->stop <= l->stop_sent || l->stop > STOP_ERROR)
		return l->stop;
	l->stop_sent = l->stop;
	l->stop_out[l->stop] = l->stop;
	for (uint32_t i = 0; i < l->peer_count; i++) {
		MPI_Isend(&l->stop_out[l->stop], sizeof(l->stop_out[0]), MPI_BYTE,
			  (int)l->peers[i].rank, LINK_TAG_STOP, l->comm, &request);
		MPI_Request_free(&request);
	}
	return l->stop;
}

void leader_link_note(struct leader_link *l, const struct stall_note *note)
{
	bool gone = false;

	for (uint32_t i = 0; l->rank && i < LINK_NOTES && !gone; i++) {
		struct link_note *n = &l->notes[i];

		gone = wait_test(&n->send);
		if (!gone)
			continue;
		n->message = (struct link_message){.reason = LINK_NOTE, .note = *note};
		MPI_Isend(&n->message, sizeof(n->message), MPI_BYTE,
			  (int)status_tree_parent(l->rank), LINK_TAG_STOP, l->comm, &n->send);
	}
}

void leader_link_listen(struct leader_link *l,
			void (*heard)(void *argument, uint32_t from, const struct stall_note *note),
			void *argument)
{
	l->heard = heard;
	l->argument = argument;
}
