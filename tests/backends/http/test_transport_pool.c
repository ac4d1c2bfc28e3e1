/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the native transport's pool: connections that end in the same turn in which others are
 * kept. The server is a socket of this program. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/http/native/transport.h"
#include "tests/unit.h"

enum { DEPTH = 2 };
#define SECOND UINT64_C(1000000000)
#define ANSWER "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabcd"

static struct clock real;
static int listener;
static char url[64];

static void server_listen(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CU_ASSERT_EQUAL_FATAL(bind(listener, (struct sockaddr *)&a, n), 0);
	CU_ASSERT_EQUAL_FATAL(listen(listener, 8), 0);
	getsockname(listener, (struct sockaddr *)&a, &n);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/x", ntohs(a.sin_port));
}

/* The next connection, of which the request has been read. */
static int server_take(void)
{
	char request[4096];
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0 && recv(fd, request, sizeof(request), 0) > 0);
	return fd;
}

static void server_answer(int fd)
{
	CU_ASSERT_EQUAL(send(fd, ANSWER, strlen(ANSWER), MSG_NOSIGNAL), (ssize_t)strlen(ANSWER));
}

static struct transport *open_transport(uint32_t connections)
{
	const struct transport_options options = {
		.depth = DEPTH,
		.connections = connections,
		.connect_ns = 60 * SECOND,
		.stall = {.first_byte_ns = 60 * SECOND, .stall_ns = 60 * SECOND},
		.clock = &real};
	struct transport *t;

	CU_ASSERT_EQUAL_FATAL(transport_native.open(&t, &options, NULL), 0);
	return t;
}

static void wait_for(struct transport *t, struct exchange *x)
{
	struct exchange *ended = NULL;

	CU_ASSERT_EQUAL_FATAL(t->ops->poll(t, &ended, 1, 1, UINT64_MAX), 1);
	CU_ASSERT_PTR_EQUAL(ended, x);
	CU_ASSERT_EQUAL(x->status, 0);
}

/* A pool that keeps one connection: the server ends it while a younger one takes its place. */
static void test_replaced_and_ended(void)
{
	struct exchange x[DEPTH], *ended[DEPTH];
	struct transport *t;
	int ends[DEPTH];

	server_listen();
	t = open_transport(1);
	for (int i = 0; i < DEPTH; i++) {
		x[i] = (struct exchange){.method = HTTP_GET, .url = url};
		t->ops->start(t, &x[i]);
		/* A connection over loopback may still be under way. */
		t->ops->poll(t, ended, 0, DEPTH, 0);
		ends[i] = server_take();
	}
	server_answer(ends[0]);
	wait_for(t, &x[0]);
	/* epoll now sees that the first one has no more, and reports the second one first. */
	t->ops->poll(t, ended, 0, DEPTH, 0);
	server_answer(ends[1]);
	close(ends[0]);
	wait_for(t, &x[1]);
	/* The younger one is there for the next request. */
	x[0] = (struct exchange){.method = HTTP_GET, .url = url};
	t->ops->start(t, &x[0]);
	server_answer(ends[1]);
	wait_for(t, &x[0]);
	CU_ASSERT_EQUAL(x[0].connections, 0);
	t->ops->close(t);
	close(ends[1]);
	close(listener);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"replaced and ended in one turn", test_replaced_and_ended},
		CU_TEST_INFO_NULL,
	};

	clock_init(&real);
	return unit_main("transport_pool", tests);
}
