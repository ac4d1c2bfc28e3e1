/* SPDX-License-Identifier: Apache-2.0 */
/* Codes of DAOS as errnos, and what they mean to a request: its fault, and the sentence. */
#ifndef HAUL_BACKENDS_DFS_CODE_H
#define HAUL_BACKENDS_DFS_CODE_H

#include "backends/request.h"
#include "core/err.h"

/* A negative errno for what a function of the library returned or an event holds: 0, a positive
 * errno, or a negative code of DAOS. A code that is not known is -EIO. */
int dfs_code_errno(int code);

/* Ends an attempt with that result: status, and what of a failed one the queue must know. */
void dfs_code_answer(struct answer *a, int code);

/* What a negative errno means in DAOS, for a sentence. */
const char *dfs_code_text(int error);

/* Steps on the way to an open store. libdfs gives the same few errnos for many reasons, and which
 * of them it is, and what to look at, follows from the step. */
enum dfs_step {
	DFS_STARTS,   /* dfs_init */
	DFS_CONNECTS, /* dfs_connect: pool and container */
	DFS_SHARES    /* the connection is handed to other ranks */
};
/* The sentence for a failed step, which begins with the store's URI. Returns rc. */
int dfs_code_blame(int rc, enum dfs_step step, const char *uri, struct err *err);

/* Targets that an object of a class lies on at least, from its name: S4, RP_2GX, EC_16P2GX. 0: not
 * known. */
uint32_t dfs_code_class_targets(const char *class);

/* X(name in DAOS, number, errno) */
#define DFS_CODES(X) \
	X(NO_PERM, 1001, EPERM) \
	X(NO_HDL, 1002, EINVAL) \
	X(INVAL, 1003, EINVAL) \
	X(EXIST, 1004, EEXIST) \
	X(NONEXIST, 1005, ENOENT) \
	X(UNREACH, 1006, EHOSTUNREACH) \
	X(NOSPACE, 1007, ENOSPC) \
	X(ALREADY, 1008, EALREADY) \
	X(NOMEM, 1009, ENOMEM) \
	X(TIMEDOUT, 1011, ETIMEDOUT) \
	X(BUSY, 1012, EBUSY) \
	X(AGAIN, 1013, EAGAIN) \
	X(PROTO, 1014, EPROTO) \
	X(UNINIT, 1015, ENOTCONN) \
	X(OVERFLOW, 1017, EOVERFLOW) \
	X(CANCELED, 1018, ECANCELED) \
	X(HG, 1020, EHOSTUNREACH) \
	X(BADPATH, 1026, ENOTDIR) \
	X(NOTDIR, 1027, ENOTDIR) \
	X(EXCLUDED, 1032, EHOSTUNREACH) \
	X(IO, 2001, EIO) \
	X(ENOENT, 2003, ENOENT) \
	X(STALE, 2007, ESTALE) \
	X(EP_RO, 2010, EPERM) \
	X(KEY2BIG, 2012, E2BIG) \
	X(REC2BIG, 2013, E2BIG) \
	X(IO_INVAL, 2014, EINVAL) \
	X(EQ_BUSY, 2015, EBUSY) \
	X(SHUTDOWN, 2017, EHOSTUNREACH) \
	X(CSUM, 2021, EBADMSG) \
	X(TX_RESTART, 2025, EAGAIN) \
	X(AGENT_COMM, 2034, ENOTCONN)

#endif
