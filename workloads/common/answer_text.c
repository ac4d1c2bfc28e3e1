/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/common/answer_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

void answer_text_ends(char text[FAILURE_TEXT_BYTES], const struct request *req, uint64_t size)
{
	uint64_t done = req->answer.done_bytes;
	/* Where nothing has come, the end may lie before. */
	const char *before = done || !req->offset ? "" : " or before";

	snprintf(text, FAILURE_TEXT_BYTES, "ends at byte %" PRIu64 " of %" PRIu64 "%s",
		 req->offset + done, size, before);
}

void answer_text_failed(char text[FAILURE_TEXT_BYTES], const struct request *req, uint64_t size)
{
	if (req->op == REQ_READ && req->answer.status == -ENODATA)
		answer_text_ends(text, req, size);
	else
		snprintf(text, FAILURE_TEXT_BYTES, "%s", request_text(req));
}

void answer_text_differs(char text[FAILURE_TEXT_BYTES], uint64_t at)
{
	snprintf(text, FAILURE_TEXT_BYTES, "payload differs at byte %" PRIu64, at);
}

bool answer_text_committed(char text[FAILURE_TEXT_BYTES], const struct request *req, uint64_t size)
{
	if (req->answer.done_bytes == size)
		return true;
	snprintf(text, FAILURE_TEXT_BYTES, "the store has %" PRIu64 " bytes of it, not %" PRIu64,
		 req->answer.done_bytes, size);
	return false;
}
