/* The receive buffer of a transport's connection. */
#ifndef HAUL_TESTS_BACKENDS_HTTP_CLIENT_BUFFER_H
#define HAUL_TESTS_BACKENDS_HTTP_CLIENT_BUFFER_H

#include <stdint.h>

/* Sets the receive buffer of the only connection of this process to that port, for ever: how far the kernel would let it grow
 * depends on when the process runs. Returns its bytes, which are fewer than asked for where the user may not have so many. */
int client_buffer(uint16_t port, int bytes);

#endif
