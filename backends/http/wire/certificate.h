/* Why a server's certificate is not accepted, in a sentence for users. */
#ifndef HAUL_BACKENDS_HTTP_WIRE_CERTIFICATE_H
#define HAUL_BACKENDS_HTTP_WIRE_CERTIFICATE_H

#define CERTIFICATE_NO_BUNDLE  "the CA bundle cannot be read"
#define CERTIFICATE_OTHER_HOST "the server's certificate is for another host"
#define CERTIFICATE_NO_TLS     "no TLS with this server"

/* From what OpenSSL says about the certificate (X509_V_…). NULL: it has accepted it, or has not seen any. */
const char *certificate_refusal(long result);

#endif
