#include <errno.h>

#include "backends/http/native/internal.h"
#include "backends/http/wire/text.h"

/* No length stands in a request without a body, unless its method is one that has a body. */
static bool native_head_has_length(const struct exchange *x)
{
	return x->send_bytes || x->method == HTTP_PUT || x->method == HTTP_POST;
}

int native_head_write(struct native_flight *f)
{
	const struct exchange *x = f->exchange;
	const struct native_peer *p = &f->peer;
	struct text t = text_in(f->head, NATIVE_HEAD_BYTES);

	text_add(&t, http_method_name(x->method));
	text_add(&t, p->target[0] == '/' ? " " : " /");
	text_add(&t, p->target);
	text_add(&t, " HTTP/1.1\r\nhost: ");
	text_add_n(&t, p->host, p->host_bytes);
	text_add(&t, "\r\nuser-agent: haul\r\n");
	for (uint32_t i = 0; i < x->header_count; i++) {
		text_add(&t, x->headers[i]);
		text_add(&t, "\r\n");
	}
	if (native_head_has_length(x)) {
		text_add(&t, "content-length: ");
		text_add_u64(&t, x->send_bytes);
		text_add(&t, "\r\n");
	}
	text_add(&t, "\r\n");
	f->head_bytes = (uint32_t)t.used;
	f->head_sent = 0;
	return t.full ? -ENAMETOOLONG : 0;
}
