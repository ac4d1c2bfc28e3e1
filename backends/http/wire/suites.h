/* SPDX-License-Identifier: Apache-2.0 */
/* Which cipher suites of TLS 1.3 haul's transports ask for first. */
#ifndef HAUL_BACKENDS_HTTP_WIRE_SUITES_H
#define HAUL_BACKENDS_HTTP_WIRE_SUITES_H

#include <openssl/ssl.h>

/* Puts AES with 128 bits and GCM before the other suites that the context offers. OpenSSL asks for
 * 256 bits first, which take both ends more time. The clients that storage is read with ask for 128
 * bits first, too: Go's crypto/tls, BoringSSL and s2n, on processors that have instructions for
 * AES. What the context does not offer, by a policy of the system, is not added. */
void suites_prefer_short(SSL_CTX *tls);

#endif
