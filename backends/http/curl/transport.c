/* The transport on libcurl: its multi interface driven by epoll, one easy handle for each exchange at
 * once, made at open and used again. Bytes received are copied once, from curl's buffer into the
 * consumer's.
 *
 * curl sends a request again by itself when a connection that it had kept turns out to be dead. That
 * would be an attempt that nobody counts: neither a connection is made for it nor is it sent, and the
 * queue tries again. */
#include <curl/curl.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "backends/http/curl/ahead.h"
#include "backends/http/curl/outcome.h"
#include "backends/http/curl/request.h"

enum {
	EVENTS = 64,
	WATCHED_MAX = 1 << 16,
	RECEIVED_BYTES = 12 << 20, /* of all exchanges under way */
	SENT_BYTES = 8 << 20,
	BUFFER_MIN = 16 << 10, /* curl's own least, of what is sent */
	BUFFER_MAX = 512 << 10
};
#define CHECK_NS   UINT64_C(100000000)
#define IDLE_MAX_S 3600L
#define NS_IN_MS   UINT64_C(1000000)

struct handle {
	CURL *easy;
	struct exchange *exchange; /* NULL: idle */
	struct curl_transport *owner;
	const char *connect_to; /* the address it is set to */
	uint32_t sendings;
	int socket; /* of its connection, the last that curl named */
	bool connected;
	bool ahead; /* its exchange is read ahead */
	bool moved; /* stands in the transport's moved */
	struct curl_slist headers[CURL_REQUEST_HEADERS];
	struct curl_slist to;
};

struct curl_transport {
	struct transport base;
	CURLM *multi;
	int epoll;
	uint8_t *watched; /* events that epoll knows of a descriptor; 0: none. [WATCHED_MAX] */
	bool *idle;       /* no exchange uses it. [WATCHED_MAX] */
	bool shares;      /* libcurl has one receive buffer for all exchanges (8.7.0) */
	bool ahead;       /* TLS is read ahead: curl_ahead.h */
	bool *kept;       /* a connection, closed by on_close and nobody else. [WATCHED_MAX] */
	uint64_t now_ns, timer_ns, check_ns; /* timer_ns UINT64_MAX: none */
	uint32_t active, free_count, ended_count, moved_count;
	struct handle *handles;  /* [depth] */
	struct handle **free;    /* [depth] */
	struct exchange **ended; /* [depth] */
	struct handle **moved;   /* received by TLS since they were last looked at. [depth] */
};

static int transport_open(struct transport **out, const struct transport_options *options,
			  struct err *err);
static void transport_close(struct transport *base);
static void transport_start(struct transport *base, struct exchange *x);
static uint32_t transport_poll(struct transport *base, struct exchange **ended, uint32_t min,
			       uint32_t max, uint64_t deadline_ns);

const struct transport_ops transport_curl = {
	.name = "curl",
	.copies = 1,
	.open = transport_open,
	.close = transport_close,
	.start = transport_start,
	.poll = transport_poll,
};

/* How many bytes of what curl frees the heap keeps: curl frees its buffers after each exchange, and to get
 * their pages back from the kernel would cost as much as the exchange. */
static void keep_freed_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 4 * BUFFER_MAX);
	mallopt(M_TRIM_THRESHOLD, 4 * RECEIVED_BYTES);
}

/* A socket stays with epoll between exchanges: taking it off and putting it on again would be two calls
 * of the kernel a request. What happens on it meanwhile takes it off. */
static void watch(struct curl_transport *t, int fd, uint32_t events)
{
	struct epoll_event event = {.data.fd = fd, .events = events};
	bool known = fd < WATCHED_MAX;

	if (known && t->watched[fd] == events)
		return;
	if (epoll_ctl(t->epoll, EPOLL_CTL_MOD, fd, &event) < 0 && errno == ENOENT)
		epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &event);
	if (known)
		t->watched[fd] = (uint8_t)events;
}

static void unwatch(struct curl_transport *t, int fd)
{
	epoll_ctl(t->epoll, EPOLL_CTL_DEL, fd, NULL);
	if (fd < WATCHED_MAX)
		t->watched[fd] = 0;
}

static curl_socket_t on_open(void *user, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct handle *h = user;
	struct curl_transport *t = h->owner;
	int fd = h->sendings ? -1 : socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);

	(void)purpose;
	if (fd >= 0 && fd < WATCHED_MAX)
		t->kept[fd] = true;
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int on_close(void *user, curl_socket_t fd)
{
	struct curl_transport *t = user;

	unwatch(t, fd);
	if (fd < WATCHED_MAX)
		t->kept[fd] = false;
	return close(fd);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *known)
{
	struct curl_transport *t = user;
	struct handle *h = NULL;
	uint32_t events =
		(what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);

	(void)known;
	curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&h);
	if (h && what != CURL_POLL_REMOVE)
		h->socket = fd;
	if (what != CURL_POLL_REMOVE)
		watch(t, fd, events);
	else if (fd >= WATCHED_MAX || !t->kept[fd])
		unwatch(t,
			fd); /* curl's own, to hear of a name looked up: it may be closed unseen */
	if (fd < WATCHED_MAX)
		t->idle[fd] = what == CURL_POLL_REMOVE;
	return 0;
}

static int on_timer(CURLM *multi, long ms, void *user)
{
	struct curl_transport *t = user;

	(void)multi;
	t->timer_ns =
		ms < 0 ? UINT64_MAX : clock_now(t->base.options.clock) + (uint64_t)ms * NS_IN_MS;
	return 0;
}

static int on_sending(void *user, char *to, char *from, int to_port, int from_port)
{
	struct handle *h = user;

	(void)to;
	(void)from;
	(void)to_port;
	(void)from_port;
	h->connected = true;
	h->exchange->active_ns = h->owner->now_ns;
	return h->sendings++ ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

/* It received, and so may have more than it was given. */
static void note_moved(struct handle *h)
{
	struct curl_transport *t = h->owner;

	if (!h->ahead || h->moved)
		return;
	h->moved = true;
	t->moved[t->moved_count++] = h;
}

static size_t on_header(char *line, size_t size, size_t n, void *user)
{
	struct handle *h = user;
	struct exchange *x = h->exchange;

	x->active_ns = h->owner->now_ns;
	note_moved(h);
	if (!x->first_byte_ns)
		x->first_byte_ns = clock_now(h->owner->base.options.clock);
	answer_line(&x->answer, line, size * n);
	return size * n;
}

static size_t on_body(char *data, size_t size, size_t n, void *user)
{
	struct handle *h = user;
	struct exchange *x = h->exchange;
	int rc = x->consume ? x->consume(x, data, size * n) : 0;

	x->active_ns = h->owner->now_ns;
	x->received_bytes += size * n;
	note_moved(h);
	if (rc >= 0)
		return size * n;
	x->ended = rc;
	return 0; /* less than came: curl ends it */
}

static size_t on_send(char *to, size_t size, size_t n, void *user)
{
	struct handle *h = user;
	struct exchange *x = h->exchange;
	uint64_t bytes = x->send_bytes - x->sent_bytes;
	int rc;

	if (bytes > size * n)
		bytes = size * n;
	x->active_ns = h->owner->now_ns;
	rc = bytes ? x->produce(x, x->sent_bytes, to, bytes) : 0;
	if (rc < 0) {
		x->ended = rc;
		return CURL_READFUNC_ABORT;
	}
	x->sent_bytes += bytes;
	return bytes;
}

/* For the sending again that on_sending refuses. */
static int on_seek(void *user, curl_off_t to, int origin)
{
	(void)user;
	return to == 0 && origin == SEEK_SET ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

/* What holds for every exchange. */
static void handle_set(struct handle *h)
{
	const struct transport_options *o = &h->owner->base.options;
	CURL *e = h->easy;

	curl_easy_setopt(e, CURLOPT_PRIVATE, h);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(e, CURLOPT_PROXY, "");
	curl_easy_setopt(e, CURLOPT_USERAGENT, "haul");
	curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(e, CURLOPT_MAXAGE_CONN, IDLE_MAX_S);
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)(o->connect_ns / NS_IN_MS));
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, o->insecure ? 0L : 1L);
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, o->insecure ? 0L : 2L);
	if (o->ca)
		curl_easy_setopt(e, CURLOPT_CAINFO, o->ca);
	if (h->owner->ahead)
		curl_ahead_set(e);
	curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, on_sending);
	curl_easy_setopt(e, CURLOPT_PREREQDATA, h);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, h);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, h);
	curl_easy_setopt(e, CURLOPT_READFUNCTION, on_send);
	curl_easy_setopt(e, CURLOPT_READDATA, h);
	curl_easy_setopt(e, CURLOPT_SEEKFUNCTION, on_seek);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_open);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, h);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION, on_close);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETDATA, h->owner);
}

static int handles_open(struct curl_transport *t)
{
	uint32_t depth = t->base.options.depth;

	t->handles = calloc(depth, sizeof(*t->handles));
	t->free = calloc(depth, sizeof(struct handle *));
	t->ended = calloc(depth, sizeof(struct exchange *));
	t->moved = calloc(depth, sizeof(struct handle *));
	t->watched = calloc(WATCHED_MAX, sizeof(*t->watched));
	t->idle = calloc(WATCHED_MAX, sizeof(*t->idle));
	t->kept = calloc(WATCHED_MAX, sizeof(*t->kept));
	if (!t->handles || !t->free || !t->ended || !t->moved || !t->watched || !t->idle ||
	    !t->kept)
		return -ENOMEM;
	for (uint32_t i = 0; i < depth; i++) {
		struct handle *h = &t->handles[i];

		h->owner = t;
		h->easy = curl_easy_init();
		if (!h->easy)
			return -ENOMEM;
		handle_set(h);
		t->free[t->free_count++] = h;
	}
	return 0;
}

static int transport_open(struct transport **out, const struct transport_options *options,
			  struct err *err)
{
	struct curl_transport *t;

	*out = NULL;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(err, -ENOMEM, "libcurl does not start");
	t = calloc(1, sizeof(*t));
	if (!t) {
		curl_global_cleanup();
		return err_set(err, -ENOMEM, "no memory for %u exchanges", options->depth);
	}
	keep_freed_memory();
	t->base = (struct transport){.ops = &transport_curl, .options = *options};
	t->shares = curl_version_info(CURLVERSION_NOW)->version_num >= 0x080700;
	t->ahead = curl_ahead_possible();
	t->timer_ns = UINT64_MAX;
	t->now_ns = clock_now(options->clock);
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	t->multi = curl_multi_init();
	if (t->epoll < 0 || !t->multi || handles_open(t) < 0) {
		transport_close(&t->base);
		return err_set(err, -ENOMEM, "no memory for %u exchanges", options->depth);
	}
	curl_multi_setopt(t->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(t->multi, CURLMOPT_SOCKETDATA, t);
	curl_multi_setopt(t->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(t->multi, CURLMOPT_TIMERDATA, t);
	curl_multi_setopt(t->multi, CURLMOPT_MAXCONNECTS, (long)options->connections);
	curl_multi_setopt(t->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
	*out = &t->base;
	return 0;
}

static void transport_close(struct transport *base)
{
	struct curl_transport *t = (struct curl_transport *)base;

	for (uint32_t i = 0; t->handles && i < base->options.depth; i++) {
		if (t->handles[i].exchange)
			curl_multi_remove_handle(t->multi, t->handles[i].easy);
		curl_easy_cleanup(t->handles[i].easy);
	}
	curl_multi_cleanup(t->multi);
	if (t->epoll >= 0)
		close(t->epoll);
	free(t->handles);
	free(t->free);
	free(t->ended);
	free(t->moved);
	free(t->watched);
	free(t->idle);
	free(t->kept);
	free(t);
	curl_global_cleanup();
}

/* The buffer of one exchange: long, so that content takes few calls, and less where many go on at once. */
static long buffer_bytes(const struct curl_transport *t, uint64_t all)
{
	const struct transport_options *o = &t->base.options;
	uint64_t bytes = all / (o->together ? atomic_load(o->together) : o->depth);

	if (bytes > BUFFER_MAX)
		return BUFFER_MAX;
	return bytes < BUFFER_MIN ? BUFFER_MIN : (long)bytes;
}

/* Curl allocates both when an exchange begins, and frees them at its end. What answers a write is short. */
static void set_buffers(struct handle *h, const struct exchange *x)
{
	long receive = x->method != HTTP_GET ? BUFFER_MIN
		       : h->owner->shares    ? BUFFER_MAX
					     : buffer_bytes(h->owner, RECEIVED_BYTES);

	curl_easy_setopt(h->easy, CURLOPT_BUFFERSIZE, receive);
	if (x->send_bytes)
		curl_easy_setopt(h->easy, CURLOPT_UPLOAD_BUFFERSIZE,
				 buffer_bytes(h->owner, SENT_BYTES));
}

static void end(struct curl_transport *t, struct handle *h, CURLcode code);

static void transport_start(struct transport *base, struct exchange *x)
{
	struct curl_transport *t = (struct curl_transport *)base;
	struct handle *h = t->free[--t->free_count];

	answer_clear(&x->answer);
	x->first_byte_ns = 0;
	x->received_bytes = 0;
	x->wire_bytes = 0;
	x->connections = 0;
	x->sent_bytes = 0;
	x->status = 0;
	x->ended = 0;
	x->fault = REQ_FAULT_NONE;
	x->why = NULL;
	x->transport = h;
	h->exchange = x;
	h->sendings = 0;
	h->connected = false;
	h->ahead = t->ahead && strncmp(x->url, "https:", 6) == 0;
	curl_easy_setopt(h->easy, CURLOPT_URL, x->url);
	if (x->address && h->connect_to != x->address->connect_to) {
		h->connect_to = x->address->connect_to;
		h->to = (struct curl_slist){.data = (char *)h->connect_to};
		curl_easy_setopt(h->easy, CURLOPT_CONNECT_TO, &h->to);
	} else if (!x->address && h->connect_to) {
		h->connect_to = NULL;
		curl_easy_setopt(h->easy, CURLOPT_CONNECT_TO, NULL);
	}
	curl_request_set(h->easy, x, h->headers);
	set_buffers(h, x);
	t->active++;
	if (curl_multi_add_handle(t->multi, h->easy) != CURLM_OK)
		end(t, h, CURLE_FAILED_INIT);
}

static void end(struct curl_transport *t, struct handle *h, CURLcode code)
{
	struct exchange *x = h->exchange;

	if (h->sendings && code == CURLE_COULDNT_CONNECT)
		code = CURLE_RECV_ERROR; /* the first one broke; the second was denied */
	curl_outcome(h->easy, x, code);
	curl_multi_remove_handle(t->multi, h->easy);
	h->exchange = NULL;
	t->free[t->free_count++] = h;
	t->active--;
	t->ended[t->ended_count++] = x;
}

static void collect(struct curl_transport *t)
{
	struct handle *h;
	CURLMsg *m;
	CURLcode code;
	int left;

	while ((m = curl_multi_info_read(t->multi, &left)) != NULL) {
		if (m->msg != CURLMSG_DONE)
			continue;
		code = m->data.result;
		h = NULL;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&h);
		end(t, h, code);
	}
}

/* Ends what has been silent for too long. Connecting has its limit in curl. */
static void check_limits(struct curl_transport *t)
{
	const struct transport_options *o = &t->base.options;

	if (t->now_ns < t->check_ns)
		return;
	t->check_ns = t->now_ns + CHECK_NS;
	for (uint32_t i = 0; i < o->depth; i++) {
		struct handle *h = &t->handles[i];
		struct exchange *x = h->exchange;
		bool waits = x && !x->first_byte_ns && x->sent_bytes == x->send_bytes;

		if (!x || !h->connected || t->now_ns < x->active_ns)
			continue;
		if (t->now_ns - x->active_ns < (waits ? o->first_byte_ns : o->stall_ns))
			continue;
		if (waits)
			exchange_fail(x, -ETIMEDOUT, REQ_FAULT_TIMEOUT, "no answer in time");
		else
			exchange_fail(x, -ETIMEDOUT, REQ_FAULT_STALL, "bytes stopped coming");
		end(t, h, CURLE_OPERATION_TIMEDOUT);
	}
}

/* Until what TLS has read ahead is used up: no event tells of it. */
static void act_ahead(struct curl_transport *t)
{
	struct handle *h;
	int running;

	while (t->moved_count) {
		h = t->moved[--t->moved_count];
		h->moved = false;
		if (!h->exchange || !curl_ahead_left(h->easy))
			continue;
		curl_multi_socket_action(t->multi, h->socket, CURL_CSELECT_IN, &running);
		collect(t);
	}
}

static void act(struct curl_transport *t, const struct epoll_event *events, int n)
{
	int running;

	for (int i = 0; i < n; i++) {
		int what = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
			   (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
			   (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);

		if (events[i].data.fd < WATCHED_MAX && t->idle[events[i].data.fd])
			/* The server ended a connection that was kept: curl finds out when it is
			 * about to use it. */
			unwatch(t, events[i].data.fd);
		else
			curl_multi_socket_action(t->multi, events[i].data.fd, what, &running);
	}
	if (t->now_ns >= t->timer_ns) {
		t->timer_ns = UINT64_MAX;
		curl_multi_socket_action(t->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	}
	collect(t);
	act_ahead(t);
	check_limits(t);
}

/* Milliseconds until something must be done, rounded up. */
static int patience(const struct curl_transport *t, uint64_t deadline_ns)
{
	uint64_t until = deadline_ns < t->timer_ns ? deadline_ns : t->timer_ns;

	if (t->active && until > t->check_ns)
		until = t->check_ns;
	if (until <= t->now_ns)
		return 0;
	until = (until - t->now_ns + NS_IN_MS - 1) / NS_IN_MS;
	return until < 1000 ? (int)until : 1000;
}

static uint32_t give(struct curl_transport *t, struct exchange **ended, uint32_t max)
{
	uint32_t n = 0;

	while (n < max && t->ended_count)
		ended[n++] = t->ended[--t->ended_count];
	return n;
}

static uint32_t transport_poll(struct transport *base, struct exchange **ended, uint32_t min,
			       uint32_t max, uint64_t deadline_ns)
{
	struct curl_transport *t = (struct curl_transport *)base;
	struct epoll_event events[EVENTS];
	uint32_t n = 0;
	int ready;

	t->now_ns = clock_now(base->options.clock);
	for (;;) {
		n += give(t, ended + n, max - n);
		ready = epoll_wait(t->epoll, events, EVENTS,
				   n >= min ? 0 : patience(t, deadline_ns));
		t->now_ns = clock_now(base->options.clock);
		act(t, events, ready > 0 ? ready : 0);
		n += give(t, ended + n, max - n);
		if (n >= min || !t->active || t->now_ns >= deadline_ns)
			return n;
	}
}
