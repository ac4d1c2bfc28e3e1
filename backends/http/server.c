/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/server.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/uri.h"

enum { SERVER_TEXT_BYTES = 1024, SERVER_RANGE_MAX = ENDPOINTS_MAX };

static int servers_add(struct servers *s, const char *text, const char *path, struct err *err);

/* Bytes of the name before the port: letters, digits, '.', '-' and '_', or an address of IPv6 in
 * brackets. 0: it is not a name. */
static size_t server_name_bytes(const char *host)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
	size_t n = strspn(host, letters);

	if (host[0] == '[') {
		n = 1 + strspn(host + 1, "0123456789abcdefABCDEF:.");
		n = n > 1 && host[n] == ']' ? n + 1 : 0;
	}
	return host[n] == '\0' || host[n] == ':' ? n : 0;
}

static bool server_path_plain(const char *path)
{
	for (; *path; path++) {
		if (*path <= ' ' || *path > '~' || strchr("?#\\\"<>{},", *path))
			return false;
	}
	return true;
}

/* Reads "https://host:port/base". */
static int server_parse(struct server *v, const char *text, const char *path, struct err *err)
{
	const char *rest = strstr(text, "://"), *slash, *colon;
	size_t n;

	v->tls = true;
	if (rest) {
		if (strncasecmp(text, "http://", 7) == 0)
			v->tls = false;
		else if (strncasecmp(text, "https://", 8) != 0)
			return err_set(err, -EINVAL,
				       "%s: \"%s\" is not an endpoint; write http://host:port "
				       "or https://host",
				       path, text);
		rest += 3;
	} else {
		rest = text;
	}
	slash = strchr(rest, '/');
	n = slash ? (size_t)(slash - rest) : strlen(rest);
	if (n < sizeof(v->host)) {
		memcpy(v->host, rest, n);
		v->host[n] = '\0';
	}
	if (n >= sizeof(v->host) || !server_name_bytes(v->host) ||
	    !server_path_plain(slash ? slash : ""))
		return err_set(err, -EINVAL, "%s: \"%s\" names no server", path, text);
	n = server_name_bytes(v->host);
	colon = v->host[n] ? v->host + n : NULL;
	if (!strstr(text, "://") && colon && strcmp(colon, ":443") != 0)
		return err_set(err, -EINVAL,
			       "%s: \"%s\" does not say whether the server speaks TLS; write "
			       "http://%s or https://%s",
			       path, text, text, text);
	if (colon && (!isdigit((unsigned char)colon[1]) || strtoul(colon + 1, NULL, 10) > 65535 ||
		      colon[1 + strspn(colon + 1, "0123456789")]))
		return err_set(err, -EINVAL, "%s: \"%s\" has no port after the colon", path, text);
	if (colon && strcmp(colon, v->tls ? ":443" : ":80") == 0)
		v->host[colon - v->host] = '\0';
	n = slash ? strlen(slash) : 0;
	while (n && slash[n - 1] == '/')
		n--;
	if (n >= sizeof(v->base))
		return err_set(err, -EINVAL, "%s: \"%s\" has a path that is too long", path, text);
	if (n)
		memcpy(v->base, slash, n);
	v->base[n] = '\0';
	n = (size_t)snprintf(v->name, sizeof(v->name), "%s://%s%s", v->tls ? "https" : "http",
			     v->host, v->base);
	if (n >= sizeof(v->name))
		return err_set(err, -EINVAL, "%s: \"%s\" is too long", path, text);
	return 0;
}

static int servers_append(struct servers *s, const char *text, const char *path, struct err *err)
{
	struct server *list;

	if (s->count == ENDPOINTS_MAX)
		return err_set(err, -EINVAL, "%s: more than %d endpoints", path, ENDPOINTS_MAX);
	/* Doubled when it is full. */
	list = s->count & (s->count - 1)
		       ? s->list
		       : realloc(s->list, (s->count ? 2 * s->count : 1) * sizeof(*list));
	if (!list)
		return err_set(err, -ENOMEM, "no memory for %u endpoints", s->count + 1);
	s->list = list;
	list[s->count] = (struct server){0};
	s->count++;
	return server_parse(&list[s->count - 1], text, path, err);
}

/* "a{first...last}b". The digits of first are those of all: {01...16} is 01, 02 … 16. */
static int servers_expand(struct servers *s, const char *text, const char *open, const char *path,
			  struct err *err)
{
	unsigned long first, last;
	int width = 0, end = 0, rc = 0;
	char one[SERVER_TEXT_BYTES];

	if (sscanf(open, "{%lu%n...%lu}%n", &first, &width, &last, &end) != 2 || !end)
		return err_set(err, -EINVAL, "%s: \"%s\": a range is written {1...8}", path, text);
	if (last < first || last - first >= SERVER_RANGE_MAX)
		return err_set(err, -EINVAL, "%s: \"%s\": the range is empty or too long", path,
			       text);
	width = open[1] == '0' ? width - 1 : 1;
	for (unsigned long i = first; i <= last && rc == 0; i++) {
		int n = snprintf(one, sizeof(one), "%.*s%0*lu%s", (int)(open - text), text, width,
				 i, open + end);

		if (n < 0 || (size_t)n >= sizeof(one))
			return err_set(err, -EINVAL, "%s: \"%s\" is too long", path, text);
		rc = servers_add(s, one, path, err);
	}
	return rc;
}

static int servers_add_file(struct servers *s, const char *name, const char *path, struct err *err)
{
	FILE *f = fopen(name, "re");
	char line[SERVER_TEXT_BYTES];
	int rc = 0;

	if (!f)
		return err_set(err, -errno, "%s: %s: %s", path, name, strerror(errno));
	while (rc == 0 && fgets(line, sizeof(line), f)) {
		char *at = line + strspn(line, " \t");

		at[strcspn(at, "#\r\n")] = '\0';
		while (*at && isspace((unsigned char)at[strlen(at) - 1]))
			at[strlen(at) - 1] = '\0';
		if (*at)
			rc = servers_add(s, at, path, err);
	}
	fclose(f);
	return rc;
}

/* Adds the servers of one text: what is between commas, then ranges. */
static int servers_add(struct servers *s, const char *text, const char *path, struct err *err)
{
	const char *comma = strchr(text, ','), *open = strchr(text, '{');
	char one[SERVER_TEXT_BYTES];
	int rc;

	/* What it holds goes into no message: it may be a secret. */
	if (strncmp(text, "file:", 5) != 0 && (strchr(text, '@') || strchr(text, '?')))
		return err_set(err, -EINVAL,
			       "%s: an endpoint has no user, no secret and no query: haul takes "
			       "credentials from the environment; write http://host:port or "
			       "https://host",
			       path);
	if (comma) {
		if ((size_t)(comma - text) >= sizeof(one))
			return err_set(err, -EINVAL, "%s: an endpoint is too long", path);
		memcpy(one, text, (size_t)(comma - text));
		one[comma - text] = '\0';
		rc = servers_add(s, one, path, err);
		return rc < 0 ? rc : servers_add(s, comma + 1 + strspn(comma + 1, " "), path, err);
	}
	return open ? servers_expand(s, text, open, path, err) : servers_append(s, text, path, err);
}

int servers_parse(struct servers *s, const char *const *texts, uint32_t count, const char *path,
		  struct err *err)
{
	int rc = 0;

	*s = (struct servers){0};
	for (uint32_t i = 0; i < count && rc == 0; i++) {
		char expanded[URI_BYTES];
		const char *text = texts[i];

		if (strncmp(text, "${", 2) == 0) {
			rc = uri_expand(text, NULL, expanded, err);
			rc = rc < 0 ? err_wrap(err, rc, "%s", path) : 0;
			text = expanded;
		}
		if (rc == 0 && strncmp(text, "file:", 5) == 0)
			rc = servers_add_file(s, text + 5, path, err);
		else if (rc == 0)
			rc = servers_add(s, text, path, err);
	}
	if (rc == 0 && !s->count)
		rc = err_set(err, -EINVAL, "%s: names no endpoint", path);
	if (rc < 0)
		servers_free(s);
	return rc;
}

void servers_free(struct servers *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		free(s->list[i].addresses);
	free(s->list);
	*s = (struct servers){0};
}

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
