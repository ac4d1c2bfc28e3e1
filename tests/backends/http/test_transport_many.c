/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the transports with many connections: a thousand at the same time, which are used again,
 * and thousands one after the other, of which no descriptor stays open. The server is a thread. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/http/curl/transport.h"
#include "backends/http/native/transport.h"
#include "tests/unit.h"

enum {
	DEPTH = 1000,
	CHURN = 3000,
	CHURN_FULL = 100000,
	CHURN_DEPTH = 16,
	ADDRESSES = 8,
	ROUNDS = 3
};
#define SECOND UINT64_C(1000000000)
#define ANSWER "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n%s\r\nabcd"

static struct {
	int listener, epoll;
	uint16_t port;
	pthread_t thread;
	bool closes; /* after each answer */
	_Atomic bool over;
	_Atomic uint32_t accepted;
} server;

static struct clock real;
static uint64_t received;

static void *serve(void *argument)
{
	struct epoll_event events[64], event = {.events = EPOLLIN};
	char request[4096], answer[128];
	int n;

	(void)argument;
	snprintf(answer, sizeof(answer), ANSWER, server.closes ? "connection: close\r\n" : "");
	while (!atomic_load(&server.over)) {
		n = epoll_wait(server.epoll, events, 64, 20);
		for (int i = 0; i < n; i++) {
			int fd = events[i].data.fd;

			if (fd == server.listener) {
				event.data.fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
				atomic_fetch_add(&server.accepted, event.data.fd >= 0);
				epoll_ctl(server.epoll, EPOLL_CTL_ADD, event.data.fd, &event);
			} else if (recv(fd, request, sizeof(request), 0) > 0) {
				/* A small request comes as a whole. */
				send(fd, answer, strlen(answer), MSG_NOSIGNAL);
			} else {
				close(fd);
			}
		}
	}
	return NULL;
}

static void server_start(bool closes)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
	struct epoll_event event = {.events = EPOLLIN};
	socklen_t n = sizeof(a);

	memset(&server, 0, sizeof(server));
	server.closes = closes;
	server.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	CU_ASSERT_EQUAL_FATAL(bind(server.listener, (struct sockaddr *)&a, n), 0);
	CU_ASSERT_EQUAL_FATAL(listen(server.listener, 4096), 0);
	getsockname(server.listener, (struct sockaddr *)&a, &n);
	server.port = ntohs(a.sin_port);
	server.epoll = epoll_create1(EPOLL_CLOEXEC);
	event.data.fd = server.listener;
	epoll_ctl(server.epoll, EPOLL_CTL_ADD, server.listener, &event);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&server.thread, NULL, serve, NULL), 0);
}

static void server_stop(void)
{
	atomic_store(&server.over, true);
	pthread_join(server.thread, NULL);
	close(server.listener);
	close(server.epoll);
}

static unsigned descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (d && readdir(d))
		n++;
	closedir(d);
	return n;
}

static int consume(struct exchange *x, const void *data, uint64_t n)
{
	(void)x;
	(void)data;
	received += n;
	return 0;
}

static struct transport *open_transport(const struct transport_ops *ops, uint32_t depth)
{
	const struct transport_options options = {
		.depth = depth,
		.connections = depth,
		.connect_ns = 60 * SECOND,
		.stall = {.first_byte_ns = 60 * SECOND, .stall_ns = 60 * SECOND},
		.clock = &real};
	struct transport *t;

	CU_ASSERT_EQUAL_FATAL(ops->open(&t, &options, NULL), 0);
	return t;
}

/* So many exchanges, depth of them at the same time, in turn to several addresses of the server. */
static uint32_t run(struct transport *t, uint32_t count, uint32_t depth)
{
	static struct exchange list[DEPTH], *ended[DEPTH], *free_list[DEPTH];
	static char urls[ADDRESSES][64];
	uint32_t begun = 0, over = 0, free_count = 0, connections = 0, n;

	for (uint32_t i = 0; i < depth; i++)
		free_list[free_count++] = &list[i];
	for (uint32_t i = 0; i < ADDRESSES; i++)
		snprintf(urls[i], sizeof(urls[i]), "http://127.0.0.%u:%u/x", i + 1, server.port);
	received = 0;
	while (over < count) {
		for (; begun < count && free_count; begun++) {
			struct exchange *x = free_list[--free_count];

			*x = (struct exchange){.method = HTTP_GET,
					       .url = urls[(x - list) % ADDRESSES],
					       .consume = consume};
			t->ops->start(t, x);
		}
		n = t->ops->poll(t, ended, 1, depth, UINT64_MAX);
		for (uint32_t i = 0; i < n; i++) {
			CU_ASSERT_EQUAL_FATAL(ended[i]->status, 0);
			connections += ended[i]->connections;
			free_list[free_count++] = ended[i];
		}
		over += n;
	}
	CU_ASSERT_EQUAL(received, 4ull * count);
	return connections;
}

static const struct transport_ops *const transports[] = {&transport_curl, &transport_native};

/* A thousand at the same time, whose connections serve the later ones. */
static void test_thousand(void)
{
	for (int k = 0; k < 2; k++) {
		unsigned before;
		struct transport *t;

		server_start(false);
		before = descriptors();
		t = open_transport(transports[k], DEPTH);
		CU_ASSERT_EQUAL(run(t, DEPTH, DEPTH), DEPTH);
		CU_ASSERT_EQUAL(run(t, ROUNDS * DEPTH, DEPTH), 0);
		CU_ASSERT_EQUAL(atomic_load(&server.accepted), DEPTH);
		t->ops->close(t);
		/* The server still has its ends. */
		CU_ASSERT(descriptors() <= before + DEPTH);
		server_stop();
	}
}

/* Whoever asks for several exchanges at least gets each of them once, however often the transport
 * has to look for them. */
static void test_several_at_least(void)
{
	enum { COUNT = 300 }; /* more than one look finds */
	static const uint32_t least[] = {1, 2, 7, COUNT};
	static struct exchange list[COUNT];
	char url[64];

	server_start(false);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/x", server.port);
	for (unsigned i = 0; i < 2 * sizeof(least) / sizeof(*least); i++) {
		struct transport *t = open_transport(transports[i % 2], COUNT);
		struct exchange *ended[COUNT];
		bool seen[COUNT] = {false};
		uint32_t over = 0;

		for (unsigned k = 0; k < COUNT; k++) {
			list[k] = (struct exchange){
				.method = HTTP_GET, .url = url, .consume = consume};
			t->ops->start(t, &list[k]);
		}
		while (over < COUNT) {
			uint32_t left = COUNT - over,
				 min = least[i / 2] < left ? least[i / 2] : left, n;

			memset(ended, 0, sizeof(ended));
			n = t->ops->poll(t, ended, min, left, UINT64_MAX);
			CU_ASSERT_FATAL(n >= min && n <= left);
			for (uint32_t k = 0; k < n; k++) {
				CU_ASSERT_FATAL(ended[k] >= list && ended[k] < list + COUNT);
				CU_ASSERT_EQUAL(ended[k]->status, 0);
				CU_ASSERT_FALSE(seen[ended[k] - list]);
				seen[ended[k] - list] = true;
			}
			over += n;
		}
		t->ops->close(t);
	}
	server_stop();
}

/* Each exchange makes a connection, and none stays behind. */
static void test_churn(void)
{
	uint32_t count = unit_full() ? CHURN_FULL : CHURN;

	for (int k = 0; k < 2; k++) {
		unsigned before;
		struct transport *t;

		server_start(true);
		t = open_transport(transports[k], CHURN_DEPTH);
		before = descriptors();
		CU_ASSERT_EQUAL(run(t, count, CHURN_DEPTH), count);
		CU_ASSERT_EQUAL(atomic_load(&server.accepted), count);
		/* The last ones may be on their way, at either end. */
		CU_ASSERT(descriptors() <= before + 2 * CHURN_DEPTH);
		t->ops->close(t);
		server_stop();
	}
}

int main(void)
{
	struct rlimit files;
	CU_TestInfo tests[] = {
		{"a thousand connections", test_thousand},
		{"several at least", test_several_at_least},
		{"connections that end", test_churn},
		CU_TEST_INFO_NULL,
	};

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	clock_init(&real);
	return unit_main("transport_many", tests);
}
