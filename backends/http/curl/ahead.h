/* OpenSSL reading ahead under libcurl: one call of the kernel for a TLS record, where it would be one for
 * its five bytes of header and one for the rest.
 *
 * libcurl asks OpenSSL whether decrypted bytes are left and the kernel whether others wait, and so never
 * hears of those that OpenSSL has received and not decrypted: who has set this must ask curl_ahead_left
 * after each action on the socket, and act again while it says so. */
#ifndef HAUL_BACKENDS_HTTP_CURL_AHEAD_H
#define HAUL_BACKENDS_HTTP_CURL_AHEAD_H

#include <curl/curl.h>
#include <stdbool.h>

/* Whether libcurl does its TLS by the very OpenSSL that haul is linked with. */
bool curl_ahead_possible(void);

/* For all connections that this handle makes. */
void curl_ahead_set(CURL *easy);

/* Whether its connection holds bytes that were received and not read. */
bool curl_ahead_left(CURL *easy);

#endif
