/* SPDX-License-Identifier: Apache-2.0 */
/* Counter of MPI calls, through MPI's profiling interface: loaded before a program, it counts each
 * call that communicates or touches a file, and the bytes that this rank hands to the call or gets
 * from it. MPI_Finalize writes them to the folder HAUL_MPI_CALLS, one file per rank with a line
 * "name calls bytes" for each function, and a file "times.RANK" with the nanoseconds of large gathers and scatters, of
 * 1,000 bytes or more, and of the two reductions before a gather that tell its size, each from its call to the test that
 * found it done. HAUL_MPI_SLOW_MS: each of these gathers and scatters begins so much later.
 *
 * MPI_Test, MPI_Wait and MPI_Iprobe are not counted: they move no data of their own, and how often
 * a waiting rank looks depends on the machine. A repeated operation (MPI_Send_init,
 * MPI_Allreduce_init) counts at each MPI_Start. Calls within MPI's own library are not seen. Main
 * thread only. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* X(name, parameters, arguments, bytes). */
/* clang-format off */
#define CALL_LIST(X) \
	X(Allgather, \
	  (const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, MPI_Comm c), \
	  (s, sn, st, r, rn, rt, c), call_bytes(sn, st) + call_ranks(c) * call_bytes(rn, rt)) \
	X(Allgatherv, \
	  (const void *s, int sn, MPI_Datatype st, void *r, const int *rn, const int *at, \
	   MPI_Datatype rt, MPI_Comm c), \
	  (s, sn, st, r, rn, at, rt, c), call_bytes(sn, st) + call_bytes(call_sum(c, rn), rt)) \
	X(Allreduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c), \
	  (s, r, n, t, op, c), 2 * call_bytes(n, t)) \
	X(Barrier, (MPI_Comm c), (c), 0) \
	X(Bcast, (void *d, int n, MPI_Datatype t, int root, MPI_Comm c), (d, n, t, root, c), \
	  call_bytes(n, t)) \
	X(Comm_dup, (MPI_Comm c, MPI_Comm *out), (c, out), 0) \
	X(Comm_idup, (MPI_Comm c, MPI_Comm *out, MPI_Request *q), (c, out, q), 0) \
	X(Comm_split, (MPI_Comm c, int color, int key, MPI_Comm *out), (c, color, key, out), 0) \
	X(Comm_split_type, (MPI_Comm c, int type, int key, MPI_Info info, MPI_Comm *out), \
	  (c, type, key, info, out), 0) \
	X(File_close, (MPI_File *f), (f), 0) \
	X(File_open, (MPI_Comm c, const char *name, int mode, MPI_Info info, MPI_File *f), \
	  (c, name, mode, info, f), 0) \
	X(File_read_at, (MPI_File f, MPI_Offset at, void *d, int n, MPI_Datatype t, MPI_Status *s), \
	  (f, at, d, n, t, s), call_bytes(n, t)) \
	X(File_read_at_all, \
	  (MPI_File f, MPI_Offset at, void *d, int n, MPI_Datatype t, MPI_Status *s), \
	  (f, at, d, n, t, s), call_bytes(n, t)) \
	X(File_set_size, (MPI_File f, MPI_Offset size), (f, size), 0) \
	X(File_set_view, \
	  (MPI_File f, MPI_Offset at, MPI_Datatype e, MPI_Datatype t, const char *how, MPI_Info info), \
	  (f, at, e, t, how, info), 0) \
	X(File_sync, (MPI_File f), (f), 0) \
	X(File_write_at, \
	  (MPI_File f, MPI_Offset at, const void *d, int n, MPI_Datatype t, MPI_Status *s), \
	  (f, at, d, n, t, s), call_bytes(n, t)) \
	X(File_write_at_all, \
	  (MPI_File f, MPI_Offset at, const void *d, int n, MPI_Datatype t, MPI_Status *s), \
	  (f, at, d, n, t, s), call_bytes(n, t)) \
	X(Gather, \
	  (const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root, \
	   MPI_Comm c), \
	  (s, sn, st, r, rn, rt, root, c), call_rooted(c, root, sn, st, rn, rt)) \
	X(Gatherv, \
	  (const void *s, int sn, MPI_Datatype st, void *r, const int *rn, const int *at, \
	   MPI_Datatype rt, int root, MPI_Comm c), \
	  (s, sn, st, r, rn, at, rt, root, c), \
	  call_bytes(sn, st) + (call_is(c, root) ? call_bytes(call_sum(c, rn), rt) : 0)) \
	X(Iallreduce, \
	  (const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c, MPI_Request *q), \
	  (s, r, n, t, op, c, q), 2 * call_bytes(n, t)) \
	X(Ibcast, (void *d, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request *q), \
	  (d, n, t, root, c, q), call_bytes(n, t)) \
	X(Igather, \
	  (const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root, \
	   MPI_Comm c, MPI_Request *q), \
	  (s, sn, st, r, rn, rt, root, c, q), call_rooted(c, root, sn, st, rn, rt)) \
	X(Imrecv, (void *d, int n, MPI_Datatype t, MPI_Message *m, MPI_Request *q), \
	  (d, n, t, m, q), call_bytes(n, t)) \
	X(Irecv, (void *d, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *q), \
	  (d, n, t, from, tag, c, q), call_bytes(n, t)) \
	X(Ireduce, \
	  (const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c, \
	   MPI_Request *q), \
	  (s, r, n, t, op, root, c, q), call_bytes(n, t)) \
	X(Iscatter, \
	  (const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root, \
	   MPI_Comm c, MPI_Request *q), \
	  (s, sn, st, r, rn, rt, root, c, q), call_rooted(c, root, rn, rt, sn, st)) \
	X(Isend, (const void *d, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *q), \
	  (d, n, t, to, tag, c, q), call_bytes(n, t)) \
	X(Recv, (void *d, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s), \
	  (d, n, t, from, tag, c, s), call_bytes(n, t)) \
	X(Scatterv, \
	  (const void *s, const int *sn, const int *at, MPI_Datatype st, void *r, int rn, \
	   MPI_Datatype rt, int root, MPI_Comm c), \
	  (s, sn, at, st, r, rn, rt, root, c), \
	  call_bytes(rn, rt) + (call_is(c, root) ? call_bytes(call_sum(c, sn), st) : 0)) \
	X(Start, (MPI_Request *q), (q), repeated_bytes(*q)) \
	X(Win_allocate_shared, \
	  (MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm c, void *out, MPI_Win *w), \
	  (bytes, unit, info, c, out, w), 0) \
	X(Win_free, (MPI_Win *w), (w), 0)
/* clang-format on */

enum call {
#define CALL_ENUM(name, parameters, arguments, bytes) CALL_##name,
	CALL_LIST(CALL_ENUM)
#undef CALL_ENUM
		CALLS
};

enum { REPEATED_MAX = 256 };

/* Operations that are planned once and started often, each with its bytes. */
static struct {
	MPI_Request request;
	uint64_t bytes;
} repeated[REPEATED_MAX];

static uint64_t calls[CALLS], bytes_of_calls[CALLS];

static uint64_t call_bytes(int64_t count, MPI_Datatype type)
{
	int bytes = 0;

	PMPI_Type_size(type, &bytes);
	return (uint64_t)count * (uint64_t)bytes;
}

static uint64_t call_ranks(MPI_Comm comm)
{
	int size = 0;

	PMPI_Comm_size(comm, &size);
	return (uint64_t)size;
}

static int call_is(MPI_Comm comm, int rank)
{
	int own = 0;

	PMPI_Comm_rank(comm, &own);
	return own == rank;
}

static int64_t call_sum(MPI_Comm comm, const int *counts)
{
	uint64_t ranks = call_ranks(comm);
	int64_t sum = 0;

	for (uint64_t i = 0; i < ranks; i++)
		sum += counts[i];
	return sum;
}

/* Each rank has a part; the root has those of all, too. */
static uint64_t call_rooted(MPI_Comm comm, int root, int part, MPI_Datatype part_type, int each,
			    MPI_Datatype each_type)
{
	uint64_t all = call_is(comm, root) ? call_ranks(comm) * call_bytes(each, each_type) : 0;

	return call_bytes(part, part_type) + all;
}

static void repeated_add(MPI_Request request, uint64_t bytes)
{
	for (int i = 0; i < REPEATED_MAX; i++)
		if (repeated[i].request == request || !repeated[i].request) {
			repeated[i].request = request;
			repeated[i].bytes = bytes;
			return;
		}
	abort();
}

static uint64_t repeated_bytes(MPI_Request request)
{
	for (int i = 0; i < REPEATED_MAX; i++)
		if (repeated[i].request == request)
			return repeated[i].bytes;
	abort();
}

#define CALL_WRAPPER(name, parameters, arguments, bytes) \
	int MPI_##name parameters \
	{ \
		calls[CALL_##name]++; \
		bytes_of_calls[CALL_##name] += (bytes); \
		return PMPI_##name arguments; \
	}
#define MPI_Igather    counted_Igather
#define MPI_Iscatter   counted_Iscatter
#define MPI_Iallreduce counted_Iallreduce
static int MPI_Igather(const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt,
		       int root, MPI_Comm c, MPI_Request *q);
static int MPI_Iscatter(const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt,
			int root, MPI_Comm c, MPI_Request *q);
static int MPI_Iallreduce(const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c,
			  MPI_Request *q);
CALL_LIST(CALL_WRAPPER)
#undef CALL_WRAPPER
#undef MPI_Igather
#undef MPI_Iscatter
#undef MPI_Iallreduce

enum { SLOW_BYTES = 1000, REDUCTIONS = 2 };

/* What is under way, the last reductions, and the time of large gathers and scatters and of the reductions before these. */
static struct {
	MPI_Request request;
	uint64_t since_ns, last_ns[REDUCTIONS], ns;
	int large;
} timed;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void timed_begin(uint64_t bytes)
{
	const char *ms = getenv("HAUL_MPI_SLOW_MS");
	long ns = ms ? atol(ms) * 1000000 : 0;

	timed.since_ns = now_ns();
	timed.large = bytes >= SLOW_BYTES;
	if (timed.large && ns)
		nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
}

int MPI_Iallreduce(const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c,
		   MPI_Request *q)
{
	int rc;

	timed_begin(0);
	rc = counted_Iallreduce(s, r, n, t, op, c, q);
	timed.request = *q;
	return rc;
}

int MPI_Igather(const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root,
		MPI_Comm c, MPI_Request *q)
{
	int rc;

	timed_begin(call_bytes(sn, st));
	for (int i = 0; timed.large && i < REDUCTIONS; i++)
		timed.ns += timed.last_ns[i];
	rc = counted_Igather(s, sn, st, r, rn, rt, root, c, q);
	timed.request = *q;
	return rc;
}

int MPI_Iscatter(const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root,
		 MPI_Comm c, MPI_Request *q)
{
	int rc;

	timed_begin(call_bytes(rn, rt));
	rc = counted_Iscatter(s, sn, st, r, rn, rt, root, c, q);
	timed.request = *q;
	return rc;
}

int MPI_Test(MPI_Request *q, int *done, MPI_Status *status)
{
	MPI_Request asked = *q;
	int rc = PMPI_Test(q, done, status);
	uint64_t took;

	if (!*done || !timed.since_ns || asked != timed.request)
		return rc;
	took = now_ns() - timed.since_ns;
	timed.since_ns = 0;
	if (timed.large) {
		timed.ns += took;
	} else {
		timed.last_ns[0] = timed.last_ns[1];
		timed.last_ns[1] = took;
	}
	return rc;
}

int MPI_Send_init(const void *d, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *q)
{
	int rc = PMPI_Send_init(d, n, t, to, tag, c, q);

	repeated_add(*q, call_bytes(n, t));
	return rc;
}

int MPI_Recv_init(void *d, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *q)
{
	int rc = PMPI_Recv_init(d, n, t, from, tag, c, q);

	repeated_add(*q, call_bytes(n, t));
	return rc;
}

int MPI_Allreduce_init(const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c,
		       MPI_Info info, MPI_Request *q)
{
	int rc = PMPI_Allreduce_init(s, r, n, t, op, c, info, q);

	repeated_add(*q, 2 * call_bytes(n, t));
	return rc;
}

static void calls_write(void)
{
	static const char *const names[CALLS] = {
#define CALL_NAME(name, parameters, arguments, bytes) #name,
		CALL_LIST(CALL_NAME)
#undef CALL_NAME
	};
	const char *folder = getenv("HAUL_MPI_CALLS");
	char path[4096];
	int rank = 0;
	FILE *f;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(path, sizeof(path), "%s/rank.%d", folder ? folder : ".", rank);
	f = fopen(path, "w");
	if (!f)
		abort();
	for (int i = 0; i < CALLS; i++)
		fprintf(f, "%s %llu %llu\n", names[i], (unsigned long long)calls[i],
			(unsigned long long)bytes_of_calls[i]);
	fclose(f);
	snprintf(path, sizeof(path), "%s/times.%d", folder ? folder : ".", rank);
	f = fopen(path, "w");
	if (!f)
		abort();
	fprintf(f, "%llu\n", (unsigned long long)timed.ns);
	fclose(f);
}

int MPI_Finalize(void)
{
	calls_write();
	return PMPI_Finalize();
}
