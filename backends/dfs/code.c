/* Codes of DAOS: see code.h. */
#include "backends/dfs/code.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "core/numbers.h"

struct code_errno {
	int code, error;
};

#define CODE_ROW(name, number, error) {-(number), (error)},
static const struct code_errno code_errnos[] = {DFS_CODES(CODE_ROW)};

enum { CODE_ERRNOS = COUNT(code_errnos) };

/* What an errno means to a request. why is NULL where the text of the errno says it. */
struct code_meaning {
	int error;
	enum request_fault fault;
	bool transient;
	const char *why;
};

static const struct code_meaning code_meanings[] = {
	{EHOSTUNREACH, REQ_FAULT_CONNECT, true, "a server of DAOS cannot be reached"},
	{ENOTCONN, REQ_FAULT_CONNECT, false,
	 "the DAOS agent of this node does not answer; is daos_agent running?"},
	{ETIMEDOUT, REQ_FAULT_TIMEOUT, true, "a server of DAOS did not answer in time"},
	{EBUSY, REQ_FAULT_THROTTLE, true, "DAOS takes no more requests now"},
	{EAGAIN, REQ_FAULT_THROTTLE, true, "DAOS asks to try again"},
	{ESTALE, REQ_FAULT_SERVER, true, "the servers of the pool have changed"},
	{EBADMSG, REQ_FAULT_SERVER, false, "the data do not have the checksum that DAOS keeps"},
	{EIO, REQ_FAULT_SERVER, false, "DAOS reports an I/O error"},
	{EPERM, REQ_FAULT_DENIED, false, "DAOS does not permit it"},
	{EACCES, REQ_FAULT_DENIED, false, "DAOS does not permit it"},
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

static const struct code_meaning *code_meaning_of(int error)
{
	for (uint32_t i = 0; i < CODE_MEANINGS; i++)
		if (code_meanings[i].error == -error)
			return &code_meanings[i];
	return NULL;
}

void dfs_code_answer(struct answer *a, int code)
{
	const struct code_meaning *m;

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
	const struct code_meaning *m = code_meaning_of(error);

	return m && m->why ? m->why : strerror(-error);
}
