/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/auth/fetch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/wire/text.h"
#include "core/file_read.h"

#define FETCH_NS UINT64_C(5000000000)

struct fetch {
	const char *body;
	char *out;
	size_t size, used;
};

static int fetch_supply(struct exchange *x, uint64_t at, const void **from, uint64_t *n)
{
	const struct fetch *f = x->user;

	*from = f->body + at;
	*n = x->send_bytes - at;
	return 0;
}

static int fetch_consume(struct exchange *x, const void *data, uint64_t n)
{
	struct fetch *f = x->user;

	if (f->used + n >= f->size)
		return -EMSGSIZE;
	memcpy(f->out + f->used, data, n);
	f->used += n;
	return 0;
}

int fetch_text(const struct credential_source *s, enum http_method method, const char *url,
	       const char *const *headers, const char *body, char *out, size_t size,
	       struct err *err)
{
	struct fetch f = {.body = body, .out = out, .size = size};
	struct transport_options quick = s->transport_options;
	struct exchange x = {.method = method,
			     .url = url,
			     .supply = fetch_supply,
			     .consume = fetch_consume,
			     .send_bytes = body ? strlen(body) : 0,
			     .user = &f};
	struct exchange *ended;
	struct transport *t;
	uint32_t n;
	int rc;

	/* A metadata service is near, or it does not exist. */
	quick.connect_ns = FETCH_NS / 5;
	quick.stall.first_byte_ns = FETCH_NS;
	quick.stall.stall_ns = FETCH_NS;
	out[0] = '\0';
	rc = s->transport->open(&t, &quick, err);
	if (rc < 0)
		return rc;
	for (; headers && headers[x.header_count]; x.header_count++)
		x.headers[x.header_count] = headers[x.header_count];
	t->ops->start(t, &x);
	n = t->ops->poll(t, &ended, 1, 1, clock_now(quick.clock) + 2 * FETCH_NS);
	t->ops->close(t);
	out[f.used] = '\0';
	if (n == 0)
		return err_set(err, -ETIMEDOUT, "%.*s: no answer in time", (int)text_url_shown(url),
			       url);
	if (x.status < 0)
		return err_set(err, x.status, "%.*s: %s", (int)text_url_shown(url), url,
			       x.why ? x.why : strerror(-x.status));
	if (x.answer.status != 200)
		return err_set(err, -EPROTO, "%.*s: answers %u", (int)text_url_shown(url), url,
			       x.answer.status);
	return 0;
}

int file_text(const char *name, size_t max, char **out)
{
	size_t length = 0;
	int rc;

	*out = NULL;
	rc = file_read(name, max, out, &length, NULL);
	if (rc < 0 || length <= max)
		return rc;
	free(*out);
	*out = NULL;
	return -EFBIG;
}
