/* SPDX-License-Identifier: Apache-2.0 */
/* Codes of DAOS: see code.h. */
#include "backends/dfs/code.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/numbers.h"
#include "core/uri.h"

struct code_errno {
	int code, error;
};

#define CODE_ROW(name, number, error) {-(number), (error)},
static const struct code_errno code_errnos[] = {DFS_CODES(CODE_ROW)};

enum { CODE_ERRNOS = COUNT(code_errnos) };

/* What an errno means to a request. why is NULL where the text of the errno says it. */
struct errno_meaning {
	int error;
	enum request_fault fault;
	bool transient;
	const char *why;
};

static const struct errno_meaning code_meanings[] = {
	{EHOSTUNREACH, REQ_FAULT_CONNECT, true,
	 "a server of DAOS cannot be reached (dmg system query)"},
	{ENOTCONN, REQ_FAULT_CONNECT, false,
	 "the DAOS agent of this node does not answer; is daos_agent running?"},
	{ETIMEDOUT, REQ_FAULT_TIMEOUT, true, "a server of DAOS did not answer in time"},
	{ECANCELED, REQ_FAULT_TIMEOUT, false,
	 "given up: DAOS had not answered when the run was to end (dmg system query)"},
	{EBUSY, REQ_FAULT_THROTTLE, true, "DAOS takes no more requests now"},
	{EAGAIN, REQ_FAULT_THROTTLE, true, "DAOS asks to try again"},
	{ERESTART, REQ_FAULT_THROTTLE, true, "DAOS asks to try again"},
	{ESTALE, REQ_FAULT_SERVER, true, "the servers of the pool have changed"},
	{EBADMSG, REQ_FAULT_SERVER, false, "the data do not have the checksum that DAOS keeps"},
	{EIO, REQ_FAULT_SERVER, false,
	 "DAOS reports an I/O error, which is its word for many: see that daos_agent runs, that engines are up "
	 "(dmg system query), that the container is there (daos container query) and that nobody evicted the "
	 "pool; D_LOG_FILE=path makes DAOS write what it met"},
	{EINVAL, REQ_FAULT_OTHER, false,
	 "DAOS calls it invalid: it may no longer know the connection, as where the pool or the container was "
	 "evicted or destroyed, or the daos_agent of this node was stopped"},
	{ENOSPC, REQ_FAULT_OTHER, false,
	 "No space left in the pool; DAOS gives the space of removed objects back late (daos pool query)"},
	{EPERM, REQ_FAULT_DENIED, false,
	 "DAOS does not permit it (daos pool get-acl, daos container get-acl)"},
	{EACCES, REQ_FAULT_DENIED, false,
	 "DAOS does not permit it (daos pool get-acl, daos container get-acl)"},
	{ENOENT, REQ_FAULT_MISSING, false, NULL},
};

enum { CODE_MEANINGS = COUNT(code_meanings) };

int dfs_code_errno(int code)
{
	if (code >= 0)
		return -code;
	for (uint32_t i = 0; i < CODE_ERRNOS; i++)
		if (code_errnos[i].code == code)
			return -code_errnos[i].error;
	return -EIO;
}

static const struct errno_meaning *code_meaning_of(int error)
{
	for (uint32_t i = 0; i < CODE_MEANINGS; i++)
		if (code_meanings[i].error == -error)
			return &code_meanings[i];
	return NULL;
}

void dfs_code_answer(struct answer *a, int code)
{
	const struct errno_meaning *m;

	a->status = dfs_code_errno(code);
	a->fault = REQ_FAULT_NONE;
	a->transient = false;
	a->why = NULL;
	if (!a->status)
		return;
	m = code_meaning_of(a->status);
	a->fault = m ? m->fault : REQ_FAULT_OTHER;
	a->transient = m && m->transient;
	a->why = m ? m->why : NULL;
}

const char *dfs_code_text(int error)
{
	const struct errno_meaning *m = code_meaning_of(error);

	return m && m->why ? m->why : strerror(-error);
}

struct code_blame {
	enum dfs_step step;
	int error;
	const char *says;
};

static const struct code_blame code_blames[] = {
	{DFS_STARTS, EINVAL,
	 "the agent of this node serves no system of that name: compare the name in daos_agent.yml with "
	 "\"system\" of the job"},
	{DFS_STARTS, EHOSTUNREACH,
	 "the agent of this node answers, and no server of DAOS does: see the access points in daos_agent.yml, "
	 "and dmg system query"},
	{DFS_CONNECTS, EPERM,
	 "DAOS does not permit it: reading needs the right r of the pool and rt of the container, writing rw and "
	 "rwt; see daos pool get-acl and daos container get-acl"},
	{DFS_CONNECTS, EINVAL,
	 "it is no container of type POSIX (daos container create --type=POSIX), or \"system\" is not the name "
	 "of the DAOS system"},
	{DFS_SHARES, EINVAL,
	 "DAOS does not know the connection; ranks may have different versions of libdfs, or the pool was "
	 "evicted"},
};

enum { CODE_BLAMES = COUNT(code_blames) };

static const char *const code_steps[] = {
	[DFS_STARTS] = "the client of DAOS does not start",
	[DFS_CONNECTS] = "connecting to the container",
	[DFS_SHARES] = "taking over the connection of rank 0",
};

/* The default of DAOS, and the variable that sets another one. */
static void code_socket(char path[URI_BYTES])
{
	const char *folder = getenv("DAOS_AGENT_DRPC_DIR");

	snprintf(path, URI_BYTES, "%s/daos_agent.sock",
		 folder && folder[0] ? folder : "/var/run/daos_agent");
}

int dfs_code_blame(int rc, enum dfs_step step, const char *uri, struct err *err)
{
	int error = rc == -EACCES ? EPERM : -rc;
	char socket[URI_BYTES];

	for (uint32_t i = 0; i < CODE_BLAMES; i++)
		if (code_blames[i].step == step && code_blames[i].error == error)
			return err_set(err, rc, "%s: %s: %s", uri, code_steps[step],
				       code_blames[i].says);
	if (step == DFS_SHARES || (error != EIO && error != ENOTCONN))
		return err_set(err, rc, "%s: %s: %s", uri, code_steps[step], dfs_code_text(rc));
	/* Everything for which there is no errno; without an agent it is the usual reason. */
	code_socket(socket);
	return err_set(
		err, rc,
		"%s: %s: DAOS reports an I/O error: the agent of this node may be absent or dead "
		"(is daos_agent running? its socket %s %s); D_LOG_FILE=path makes DAOS write what "
		"it met",
		uri, code_steps[step], socket,
		access(socket, F_OK) == 0 ? "is there" : "is not there");
}

uint32_t dfs_code_class_targets(const char *class)
{
	unsigned data, more;

	if (sscanf(class, "RP_%uG", &more) == 1)
		return more;
	if (sscanf(class, "EC_%uP%uG", &data, &more) == 2)
		return data + more;
	return sscanf(class, "S%u", &more) == 1 ? more : 0;
}
