/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/sum.h"

#include <errno.h>
#include <string.h>

#include "backends/http/body.h"
#include "backends/http/dialect.h"

static void sum_add_piece(void *sum, const void *data, uint64_t n)
{
	sum_add(sum, data, n);
}

int slot_sum_sent(struct http_slot *s, enum sum_kind kind)
{
	struct sum *sum = &s->channel->sum;
	int rc = sum_begin(sum, kind);

	if (rc == 0)
		rc = body_each(s, s->request.body_bytes, sum_add_piece, sum);
	if (rc == 0)
		sum_end(sum, s->sum_sent);
	return rc;
}

int slot_sum_object(struct http_slot *s)
{
	const struct dialect *d = s->channel->store->dialect;
	enum sum_kind kind = (enum sum_kind)s->channel->store->options->checksum;
	char value[SUM_TEXT_BYTES + 8];
	struct text t = text_in(value, sizeof(value));
	int rc;

	if (kind == SUM_NONE)
		return 0;
	rc = slot_sum_sent(s, kind);
	if (rc < 0)
		return rc;
	if (kind == SUM_CRC32C)
		text_add(&t, d->crc32c_before);
	text_add(&t, s->sum_sent);
	http_request_header(&s->request, kind == SUM_MD5 ? "content-md5" : d->crc32c_header, value);
	return 0;
}

int slot_sum_received(struct http_slot *s)
{
	return sum_begin(&s->sum, (enum sum_kind)s->channel->store->options->checksum);
}

int slot_sum_compare(struct http_slot *s)
{
	const struct http_answer *a = &s->exchange.answer;
	const char *message = s->sum.kind == SUM_MD5 ? a->md5 : a->crc32c;
	char text[SUM_TEXT_BYTES];

	if (s->sum.kind == SUM_NONE || s->error_in_content || !message[0])
		return 0;
	sum_end(&s->sum, text);
	/* Of an object made in parts S3 may tell the sum of the parts' sums, followed by their
	 * number. */
	if (strcmp(message, text) == 0 || strchr(message, '-'))
		return 0;
	/* It is not tried again: who reads by pieces has seen the bytes. */
	s->req->answer.why = "the bytes that came have another checksum than the store says";
	return -EILSEQ;
}
