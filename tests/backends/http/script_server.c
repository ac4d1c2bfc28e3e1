/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/backends/http/script_server.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit.h"

struct script_server server;

char body_byte(uint64_t at)
{
	return (char)('a' + at % 23);
}

void server_listen(int backlog)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);

	memset(&server, 0, sizeof(server));
	server.client = -1;
	server.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	CU_ASSERT_EQUAL_FATAL(bind(server.listener, (struct sockaddr *)&a, n), 0);
	CU_ASSERT_EQUAL_FATAL(listen(server.listener, backlog), 0);
	getsockname(server.listener, (struct sockaddr *)&a, &n);
	server.port = ntohs(a.sin_port);
}

static void server_next(void)
{
	server.used = server.head_bytes = server.sent = server.piece = 0;
	server.body_bytes = 0;
	server.asked = false;
}

void server_end(enum end how)
{
	struct linger now = {.l_onoff = 1};

	if (server.client >= 0 && how == RESET)
		setsockopt(server.client, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	if (server.client >= 0 && (how == CLOSE || how == RESET)) {
		close(server.client);
		server.client = -1;
	}
	server_next();
}

static uint64_t server_length(void)
{
	const char *at = strcasestr(server.head, "content-length: ");

	return at ? strtoull(at + 16, NULL, 10) : 0;
}

static void server_read(const struct script *s)
{
	static char data[1 << 16];
	ssize_t n;

	while (!server.asked && (n = recv(server.client, data, server.head_bytes ? sizeof(data) : 1,
					  MSG_DONTWAIT)) > 0) {
		server.in_bytes += (uint64_t)n;
		if (!server.head_bytes) {
			server.head[server.used++] = data[0];
			server.head[server.used] = '\0';
			if (server.used >= 4 &&
			    memcmp(server.head + server.used - 4, "\r\n\r\n", 4) == 0)
				server.head_bytes = server.used;
		} else {
			for (ssize_t i = 0; i < n; i++, server.body_bytes++)
				server.body_wrong |= data[i] != body_byte(server.body_bytes);
		}
		server.asked = server.head_bytes &&
			       (s->end == EARLY || server.body_bytes == server_length());
	}
	if (!server.asked && n == 0)
		server_end(CLOSE);
}

void server_step(const struct script *s)
{
	const char *piece;
	ssize_t n;

	if (server.client < 0 && !server.deaf) {
		server.client = accept4(server.listener, NULL, NULL, SOCK_CLOEXEC);
		server.accepted += server.client >= 0;
	}
	if (server.client < 0)
		return;
	if (!server.asked) {
		server_read(s);
		return;
	}
	piece = server.piece < PIECES ? s->pieces[server.piece] : NULL;
	if (!piece) {
		server_end(s->end);
		return;
	}
	n = send(server.client, piece + server.sent, strlen(piece + server.sent),
		 MSG_NOSIGNAL | MSG_DONTWAIT);
	server.out_bytes += n > 0 ? (uint64_t)n : 0;
	server.sent += n > 0 ? (size_t)n : 0;
	if (piece[server.sent])
		return;
	server.piece++;
	server.sent = 0;
}
