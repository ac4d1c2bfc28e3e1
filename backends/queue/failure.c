/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/queue/failure.h"

#include <stdio.h>

int(failure_compose)(struct err *err, int rc, const struct store *store, const char *key,
		     const char *text, unsigned protocol_status, unsigned attempts)
{
	char status[16] = "", tried[48] = "";

	if (protocol_status)
		snprintf(status, sizeof(status), "%u, ", protocol_status);
	if (protocol_status || attempts > 1)
		snprintf(tried, sizeof(tried), " (%s%u attempt%s)", status, attempts,
			 attempts == 1 ? "" : "s");
	return err_set(err, rc, "%s%s%s: %s%s", store->uri, *key ? "/" : "", key, text, tried);
}

int(failure_set)(struct err *err, int rc, const struct store *store, const struct request *req,
		 const char *text)
{
	if (!text)
		text = rc == req->answer.status ? request_text(req) : request_status_text(rc);
	return failure_compose(err, rc, store, req->object->key, text, req->answer.protocol_status,
			       req->answer.attempts);
}
