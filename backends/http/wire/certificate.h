/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates of servers: for whom they have to be, whatever the transport, and why one is not
 * accepted. */
#ifndef HAUL_BACKENDS_HTTP_WIRE_CERTIFICATE_H
#define HAUL_BACKENDS_HTTP_WIRE_CERTIFICATE_H

#include <openssl/x509v3.h>
#include <stdbool.h>

#define CERTIFICATE_NO_BUNDLE  "the CA bundle cannot be read"
#define CERTIFICATE_OTHER_HOST "the server's certificate is for another host"
#define CERTIFICATE_NO_TLS     "no TLS with this server"

/* Makes OpenSSL accept a certificate only for that host: a name or an address without brackets,
 * among the certificate's alternative names. A name in its subject's CN alone counts for nothing
 * (RFC 9110, 4.3.4). Returns whether there was memory. */
bool certificate_expect(X509_VERIFY_PARAM *p, const char *host);

/* From what OpenSSL says about the certificate (X509_V_…). NULL: it has accepted it, or has not
 * seen any. */
const char *certificate_refusal(long result);

#endif
