/* SPDX-License-Identifier: Apache-2.0 */
/* The socket of a transport's connection, and its receive buffer. */
#ifndef HAUL_TESTS_BACKENDS_HTTP_CLIENT_BUFFER_H
#define HAUL_TESTS_BACKENDS_HTTP_CLIENT_BUFFER_H

#include <stdint.h>

/* The only connection of this process to that port. */
int client_socket(uint16_t port);
/* Sets the receive buffer of that connection, for ever: how far the kernel would let it grow
 * depends on when the process runs. Returns its bytes, which are fewer than asked for where the
 * user may not have so many. */
int client_buffer(uint16_t port, int bytes);

#endif
