/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of the transport on libcurl, in epoll, and libcurl's timer. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/http/curl/internal.h"
#include "core/time_ns.h"

/* A socket stays in epoll between exchanges: taking it out and putting it in again would cost two
 * system calls per request. If something happens on it meanwhile, it is taken out. */
static void curl_watch(struct curl_transport *t, int fd, uint32_t events)
{
	struct epoll_event event = {.data.fd = fd, .events = events};
	bool known = fd < CURL_SOCKETS_MAX;

	if (known && t->watched[fd] == events)
		return;
	if (epoll_ctl(t->epoll, EPOLL_CTL_MOD, fd, &event) < 0 && errno == ENOENT)
		epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &event);
	if (known)
		t->watched[fd] = (uint8_t)events;
}

/* A socket that is out already may be closed, and its number may be another thread's by now: an
 * event that was fetched with others can be about a socket that one of those others ended. */
void curl_unwatch(struct curl_transport *t, int fd)
{
	if (fd < CURL_SOCKETS_MAX && !t->watched[fd])
		return;
	epoll_ctl(t->epoll, EPOLL_CTL_DEL, fd, NULL);
	if (fd < CURL_SOCKETS_MAX)
		t->watched[fd] = 0;
}

/* libcurl would send a request again by itself when a kept connection turns out to be dead. That
 * attempt would be counted nowhere, so it gets no connection, and the queue tries again. */
curl_socket_t curl_on_open(void *handle, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct curl_handle *h = handle;
	struct curl_transport *t = h->owner;
	const struct local_end *local = t->base.options.local;
	int fd = h->sendings ? -1 : socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);

	(void)purpose;
	if (fd >= 0 && local && local_end_bind(local, fd, a->family) < 0) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0 && fd < CURL_SOCKETS_MAX)
		t->kept[fd] = true;
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

bool curl_quiet(struct curl_transport *t, int fd)
{
	char some[4096];

	if (fd < 0 || fd >= CURL_SOCKETS_MAX || !t->idle[fd] || !t->kept[fd] ||
	    recv(fd, some, 1, MSG_PEEK | MSG_DONTWAIT) <= 0)
		return true;
	/* libcurl finds the end when it is about to use the connection. */
	shutdown(fd, SHUT_RDWR);
	while (recv(fd, some, sizeof(some), MSG_DONTWAIT) > 0)
		;
	return false;
}

int curl_on_close(void *transport, curl_socket_t fd)
{
	struct curl_transport *t = transport;

	curl_unwatch(t, fd);
	if (fd < CURL_SOCKETS_MAX)
		t->kept[fd] = false;
	return close(fd);
}

static int curl_on_socket(CURL *easy, curl_socket_t fd, int what, void *transport, void *known)
{
	struct curl_transport *t = transport;
	struct curl_handle *h = NULL;
	uint32_t events =
		(what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);

	(void)known;
	curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&h);
	if (h && what != CURL_POLL_REMOVE)
		h->socket = fd;
	/* A socket of libcurl's own, by which it hears of a name looked up, may be closed without a
	 * word. */
	if (what != CURL_POLL_REMOVE)
		curl_watch(t, fd, events);
	else if (fd >= CURL_SOCKETS_MAX || !t->kept[fd])
		curl_unwatch(t, fd);
	if (fd < CURL_SOCKETS_MAX) {
		t->idle[fd] = what == CURL_POLL_REMOVE;
		t->user[fd] = what == CURL_POLL_REMOVE ? NULL : h;
	}
	return 0;
}

static int curl_on_timer(CURLM *multi, long ms, void *transport)
{
	struct curl_transport *t = transport;

	(void)multi;
	t->timer_ns =
		ms < 0 ? UINT64_MAX : clock_now(t->base.options.clock) + (uint64_t)ms * NS_PER_MS;
	return 0;
}

void curl_sockets_set(struct curl_transport *t)
{
	curl_multi_setopt(t->multi, CURLMOPT_SOCKETFUNCTION, curl_on_socket);
	curl_multi_setopt(t->multi, CURLMOPT_SOCKETDATA, t);
	curl_multi_setopt(t->multi, CURLMOPT_TIMERFUNCTION, curl_on_timer);
	curl_multi_setopt(t->multi, CURLMOPT_TIMERDATA, t);
	curl_multi_setopt(t->multi, CURLMOPT_MAXCONNECTS, (long)t->base.options.connections);
	curl_multi_setopt(t->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
}
