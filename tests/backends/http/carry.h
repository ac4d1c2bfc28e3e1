/* SPDX-License-Identifier: Apache-2.0 */
/* One exchange over a transport, in turn with the server of script_server.h, and what came of
 * it. */
#ifndef HAUL_TESTS_BACKENDS_HTTP_CARRY_H
#define HAUL_TESTS_BACKENDS_HTTP_CARRY_H

#include "backends/http/wire/transport.h"
#include "tests/backends/http/script_server.h"

enum { BODY_MAX = 4 << 20, HANGS_S = 120 };
#define SECOND UINT64_C(1000000000)
#define OK     "HTTP/1.1 200 OK\r\n"
#define FOUR   OK "content-length: 4\r\n\r\n"

/* What came. */
struct carried {
	struct clock clock; /* the kernel's; main makes it */
	char body[BODY_MAX];
	uint64_t bytes,
		placed_bytes; /* of the body; and of these, those that came where carry_place wanted them */
};
extern struct carried carried;

/* What an exchange calls. */
int carry_keep(struct exchange *x, const void *data, uint64_t n);
/* Bytes belong one behind the other, with room for a few at a time. */
void *carry_place(struct exchange *x, uint64_t *n);
/* The body lies in a window of 1000 bytes. */
int carry_supply(struct exchange *x, uint64_t at, const void **from, uint64_t *n);

struct transport *carry_open(const struct transport_ops *ops, const struct clock *clock,
			     uint64_t connect_ns);
/* A GET whose body is kept. */
struct exchange carry_get(char url[64], const char *host);
/* Carries one exchange to its end. fake: the clock, which moves a tenth of a second at each turn;
 * or NULL. */
void carry(struct transport *t, struct exchange *x, const struct script *s, struct clock *fake);

#endif
