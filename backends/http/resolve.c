#include "backends/http/resolve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { RESOLVE_ADDRESSES = 64 };

static bool resolve_literal(const char *host)
{
	struct in_addr a;

	return host[0] == '[' || inet_pton(AF_INET, host, &a) == 1;
}

/* localhost has two addresses, and a server often listens on only one of them. */
static bool resolve_local(const char *name)
{
	size_t n = strlen(name);

	return n >= 9 && strcasecmp(name + n - 9, "localhost") == 0;
}

static void resolve_keep(struct server *v, const struct addrinfo *a, const char *port)
{
	char ip[INET6_ADDRSTRLEN];
	struct address *to = &v->addresses[v->address_count];
	const void *from = a->ai_family == AF_INET6
				   ? (const void *)&((struct sockaddr_in6 *)a->ai_addr)->sin6_addr
				   : (const void *)&((struct sockaddr_in *)a->ai_addr)->sin_addr;

	if (!inet_ntop(a->ai_family, from, ip, sizeof(ip)))
		return;
	snprintf(to->text, sizeof(to->text), a->ai_family == AF_INET6 ? "[%s]:%s" : "%s:%s", ip,
		 port);
	v->address_count++;
}

static int resolve_server(struct server *v, const char *label)
{
	char name[SERVER_HOST_BYTES + 64], *colon;
	const char *port = v->tls ? "443" : "80";
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;

	snprintf(name, sizeof(name), "%s%s", label, v->host);
	colon = strrchr(name, ':');
	if (resolve_literal(v->host) || (colon && strchr(name, '[')))
		return 0;
	if (colon) {
		*colon = '\0';
		port = colon + 1;
	}
	if (resolve_literal(name) || resolve_local(name) ||
	    getaddrinfo(name, port, &hints, &found) != 0)
		return 0;
	v->addresses = calloc(RESOLVE_ADDRESSES, sizeof(*v->addresses));
	for (struct addrinfo *a = found; v->addresses && a; a = a->ai_next) {
		/* Only of the family that is preferred here: the other may lead nowhere. */
		if (a->ai_family == found->ai_family && v->address_count < RESOLVE_ADDRESSES)
			resolve_keep(v, a, port);
	}
	freeaddrinfo(found);
	return v->addresses ? 0 : -ENOMEM;
}

int servers_resolve(struct servers *s, const char *label)
{
	int rc = 0;

	for (uint32_t i = 0; i < s->count && rc == 0; i++)
		rc = resolve_server(&s->list[i], label);
	return rc;
}
