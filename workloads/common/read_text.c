#include "workloads/common/read_text.h"

#include <inttypes.h>
#include <stdio.h>

void read_text_ends(char text[FAILURE_TEXT_BYTES], const struct request *req, uint64_t size)
{
	uint64_t done = req->answer.done_bytes;
	/* Where nothing has come, the end may lie before. */
	const char *before = done || !req->offset ? "" : " or before";

	snprintf(text, FAILURE_TEXT_BYTES, "ends at byte %" PRIu64 " of %" PRIu64 "%s",
		 req->offset + done, size, before);
}

void read_text_differs(char text[FAILURE_TEXT_BYTES], uint64_t at)
{
	snprintf(text, FAILURE_TEXT_BYTES, "payload differs at byte %" PRIu64, at);
}
