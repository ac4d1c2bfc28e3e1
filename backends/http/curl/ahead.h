/* SPDX-License-Identifier: Apache-2.0 */
/* Reading ahead with TLS: OpenSSL takes one system call per TLS record, where it would take one for
 * the five bytes of its header and one for the rest.
 *
 * libcurl asks OpenSSL whether decrypted bytes are left, and the kernel whether others wait, and so
 * never hears of bytes that OpenSSL has received but not decrypted. Who sets this must therefore
 * ask curl_ahead_left after each action on the socket, and act again while it is true and the
 * action has read a record. (A record may contain nothing that libcurl hands on, such as the length
 * of a chunk; what is left may be the beginning of a record.) */
#ifndef HAUL_BACKENDS_HTTP_CURL_AHEAD_H
#define HAUL_BACKENDS_HTTP_CURL_AHEAD_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether libcurl uses the very OpenSSL that haul is linked with. */
bool curl_ahead_possible(void);

/* For all connections that this handle makes, which also ask for the suites of TLS that
 * wire/suites.h prefers. *records grows with each record that one of them reads; it must outlive
 * the connections. */
void curl_ahead_set(CURL *easy, uint64_t *records);

/* Whether its connection holds bytes that were received but not read. */
bool curl_ahead_left(CURL *easy);

#endif
