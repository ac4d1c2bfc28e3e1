/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: names, texts, and which outcomes count as errors. */
#include "backends/request.h"

#include <string.h>

static const char *const op_names[REQ_OPS] = {
	[REQ_OPEN] = "open",     [REQ_READ] = "read",   [REQ_CLOSE] = "close",
	[REQ_BEGIN] = "begin",   [REQ_WRITE] = "write", [REQ_COMMIT] = "commit",
	[REQ_ABORT] = "abort",   [REQ_STAT] = "stat",   [REQ_DELETE] = "delete",
	[REQ_RENAME] = "rename", [REQ_LIST] = "list",   [REQ_UPDATE] = "update",
};

uint32_t request_failures(const struct request *req)
{
	uint32_t n = 0;

	if (!request_keys(req))
		return request_failed(req);
	for (uint32_t i = 0; i < request_keys(req); i++)
		n += req->batch.keys[i].status && req->batch.keys[i].status != -ENOENT;
	return n;
}

const char *request_op_name(enum request_op op)
{
	return (unsigned)op < REQ_OPS ? op_names[op] : "unknown";
}

const char *request_status_text(int status)
{
	const char *text = strerrordesc_np(-status);

	if (status == -ENODATA)
		return "ends early";
	return text ? text : "unknown error";
}

const char *request_text(const struct request *req)
{
	return req->answer.why ? req->answer.why : request_status_text(req->answer.status);
}
