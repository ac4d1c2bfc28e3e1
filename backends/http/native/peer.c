/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "backends/http/native/internal.h"
#include "backends/http/wire/text.h"
#include "core/content/fnv.h"

enum { PEER_PORT_MAX = 65535 };

int native_peer_of(const struct exchange *x, struct native_peer *p)
{
	const char *rest = strstr(x->url, "://");

	*p = (struct native_peer){.address = x->address};
	if (!rest)
		return -EINVAL;
	p->tls = rest - x->url == 5 && strncasecmp(x->url, "https", 5) == 0;
	if (!p->tls && (rest - x->url != 4 || strncasecmp(x->url, "http", 4) != 0))
		return -EINVAL;
	p->host = rest + 3;
	p->host_bytes = strcspn(p->host, "/?#");
	p->target = p->host + p->host_bytes;
	if (p->host_bytes == 0 || p->host_bytes >= NATIVE_HOST_BYTES ||
	    memchr(p->host, '@', p->host_bytes))
		return -EINVAL;
	p->hash = fnv_add(FNV_START, p->host, p->host_bytes);
	p->hash = fnv_add(p->hash, &p->address, sizeof(p->address));
	p->hash = fnv_add(p->hash, &p->tls, sizeof(p->tls));
	return 0;
}

bool native_peer_is(const struct native_peer *p, const struct native_connection *c)
{
	return p->hash == c->hash && p->tls == c->tls && p->address == c->address &&
	       strncmp(c->host, p->host, p->host_bytes) == 0 && c->host[p->host_bytes] == '\0';
}

/* Divides "name:port", "[::1]:port", or one of them without a port. */
static bool native_peer_split(const char *text, size_t n, char name[NATIVE_HOST_BYTES],
			      char port[LOOKUP_PORT_BYTES])
{
	const char *end = text + n, *colon;
	size_t bytes;

	if (*text == '[') {
		colon = memchr(text, ']', n);
		if (!colon)
			return false;
		text++;
		bytes = (size_t)(colon++ - text);
	} else {
		colon = memchr(text, ':', n);
		colon = colon ? colon : end;
		bytes = (size_t)(colon - text);
	}
	if (bytes >= NATIVE_HOST_BYTES || (colon < end && *colon != ':'))
		return false;
	memcpy(name, text, bytes);
	name[bytes] = '\0';
	if (colon == end)
		return true;
	bytes = (size_t)(end - colon) - 1;
	if (bytes == 0 || bytes >= LOOKUP_PORT_BYTES)
		return false;
	memcpy(port, colon + 1, bytes);
	port[bytes] = '\0';
	return true;
}

static bool native_peer_add(struct native_addresses *to, int family, const char *name,
			    unsigned long port)
{
	union native_address *a = &to->list[to->count];

	*a = (union native_address){0};
	if (family == AF_INET) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons((uint16_t)port);
	} else {
		a->v6.sin6_family = AF_INET6;
		a->v6.sin6_port = htons((uint16_t)port);
	}
	if (inet_pton(family, name,
		      family == AF_INET ? (void *)&a->v4.sin_addr : (void *)&a->v6.sin6_addr) != 1)
		return false;
	to->count++;
	return true;
}

/* The name of this machine itself needs no lookup: RFC 6761, 6.3. A server may listen at only one
 * of its addresses. */
static bool native_peer_is_local(const char *name)
{
	size_t n = strlen(name);

	return n >= 9 && strcasecmp(name + n - 9, "localhost") == 0 &&
	       (n == 9 || name[n - 10] == '.');
}

bool native_peer_addresses(const struct native_peer *p, struct native_addresses *out,
			   char name[NATIVE_HOST_BYTES], char port[LOOKUP_PORT_BYTES])
{
	const char *text = p->address ? p->address->text : p->host;
	size_t n = p->address ? strlen(text) : p->host_bytes;
	unsigned long number;

	out->count = 0;
	strcpy(port, p->tls ? "443" : "80");
	/* What cannot be an address or a name leads nowhere. */
	if (!native_peer_split(text, n, name, port))
		return true;
	number = strtoul(port, NULL, 10);
	if (number == 0 || number > PEER_PORT_MAX || port[strspn(port, "0123456789")])
		return true;
	if (native_peer_add(out, AF_INET, name, number) ||
	    native_peer_add(out, AF_INET6, name, number))
		return true;
	if (!native_peer_is_local(name))
		return false;
	native_peer_add(out, AF_INET6, "::1", number);
	native_peer_add(out, AF_INET, "127.0.0.1", number);
	return true;
}

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
