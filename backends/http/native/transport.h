/* SPDX-License-Identifier: Apache-2.0 */
/* Native transport: HTTP/1.1 over sockets of its own, for the store that chooses it. Bytes are
 * received where the consumer wants them and sent from where they lie, so they are copied by the
 * kernel alone. */
#ifndef HAUL_BACKENDS_HTTP_NATIVE_TRANSPORT_H
#define HAUL_BACKENDS_HTTP_NATIVE_TRANSPORT_H

#include "backends/http/wire/transport.h"

extern const struct transport_ops transport_native;

#endif
