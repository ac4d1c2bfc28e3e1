/* HTTP exchanges, many at once, in one thread. What is above this (requests, signatures, retries) knows
 * no library; what is below (curl now, perhaps another) knows no store.
 *
 * A transport belongs to a channel, so to one thread. Nothing of haul's allocates after open. */
#ifndef HAUL_BACKENDS_HTTP_WIRE_TRANSPORT_H
#define HAUL_BACKENDS_HTTP_WIRE_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/backend.h"
#include "backends/http/wire/answer.h"

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_PUT, HTTP_POST, HTTP_DELETE };
const char *http_method_name(enum http_method method);

enum { EXCHANGE_HEADERS = 20 };

/* One address of a server's name, or none: then the name is looked up. */
struct address {
	char connect_to[64]; /* "::192.0.2.1:443" */
};

/* A request and its answer. The caller's; nothing in it may move or change before it has come back. */
struct exchange {
	/* What is sent. */
	enum http_method method;
	const char *url;
	const struct address *address; /* NULL: as the name resolves */
	uint32_t header_count;
	const char *headers[EXCHANGE_HEADERS]; /* "name: value" */
	uint64_t send_bytes;
	/* Bytes [at, at + n) of the body; a negative errno ends the exchange. */
	int (*produce)(struct exchange *x, uint64_t at, void *to, uint64_t n);

	/* What comes. The head is whole when consume is first called. A negative errno ends the
	 * exchange. */
	struct http_answer answer;
	int (*consume)(struct exchange *x, const void *data, uint64_t n);
	uint64_t first_byte_ns;  /* when the head began, on the transport's clock */
	uint64_t received_bytes; /* of the body */
	uint64_t wire_bytes;     /* both ways, heads included */
	uint32_t connections;    /* made for it */

	/* How it ended: 0, whatever the answer's status; or a negative errno, what kind of fault, and
	 * a sentence. A caller's own error has no fault. */
	int status;
	enum request_fault fault;
	const char *why;

	void *user;      /* the caller's */
	void *transport; /* the transport's */
	uint64_t active_ns;
	uint64_t sent_bytes;
	int ended; /* by callback or timeout, with this */
};

struct transport_options {
	uint32_t depth;       /* exchanges at once */
	uint32_t connections; /* kept idle at most */
	/* Exchanges at once of all transports that share the memory for what is on its way; NULL: its own. */
	const _Atomic uint32_t *together;
	uint64_t connect_ns, first_byte_ns, stall_ns;
	bool insecure;
	const char *ca; /* bundle; NULL: the system's */
	const struct clock *clock;
};

struct transport {
	const struct transport_ops *ops;
	struct transport_options options;
};

struct transport_ops {
	const char *name;
	uint32_t copies; /* of each byte received, in user space */
	int (*open)(struct transport **out, const struct transport_options *options,
		    struct err *err);
	void (*close)(struct transport *t);
	/* Begins it. What cannot even begin comes back from poll. */
	void (*start)(struct transport *t, struct exchange *x);
	/* Works; gives back at least min ended exchanges unless deadline_ns passes, at most max. */
	uint32_t (*poll)(struct transport *t, struct exchange **ended, uint32_t min, uint32_t max,
			 uint64_t deadline_ns);
};

extern const struct transport_ops transport_curl;

#endif
