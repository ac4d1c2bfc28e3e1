/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/curl/outcome.h"

#include <errno.h>

#include "backends/http/wire/certificate.h"

/* Why a certificate was not accepted. */
static const char *curl_tls_reason(CURL *e, CURLcode code)
{
	const char *refusal;
	long result = 0;

	if (code == CURLE_SSL_CACERT_BADFILE)
		return CERTIFICATE_NO_BUNDLE;
	curl_easy_getinfo(e, CURLINFO_SSL_VERIFYRESULT, &result);
	refusal = certificate_refusal(result);
	if (refusal)
		return refusal;
	return code == CURLE_PEER_FAILED_VERIFICATION ? CERTIFICATE_OTHER_HOST : CERTIFICATE_NO_TLS;
}

static void curl_classify_tls(CURL *e, struct exchange *x, CURLcode code, long os)
{
	/* A server that dies in the handshake looks like this. */
	if (code == CURLE_SSL_CONNECT_ERROR && (os == ECONNRESET || os == EPIPE))
		exchange_fail(x, (int)-os, REQ_FAULT_CONNECT, "it broke in the handshake");
	else
		exchange_fail(x, -EPROTO, REQ_FAULT_TLS, curl_tls_reason(e, code));
}

/* The request went out, and libcurl ran out of room for a line of the answer's head: 7.88 calls
 * that no memory. */
static bool curl_line_too_long(const struct curl_handle *h, CURLcode code)
{
#if LIBCURL_VERSION_NUM >= 0x080600
	if (code == CURLE_TOO_LARGE)
		return true;
#endif
	return code == CURLE_OUT_OF_MEMORY && h->sendings;
}

/* What came back is not an answer of HTTP/1.x. */
static bool curl_not_http(const struct curl_handle *h, CURLcode code)
{
	return code == CURLE_WEIRD_SERVER_REPLY || code == CURLE_FILESIZE_EXCEEDED ||
	       (code == CURLE_UNSUPPORTED_PROTOCOL && h->sendings);
}

static void curl_classify(const struct curl_handle *h, CURLcode code)
{
	struct exchange *x = h->exchange;
	long os = 0;

	curl_easy_getinfo(h->easy, CURLINFO_OS_ERRNO, &os);
	if (curl_line_too_long(h, code)) {
		exchange_fail(x, -EPROTO, REQ_FAULT_OTHER,
			      "a line in the head of the answer is too long");
		return;
	}
	if (curl_not_http(h, code)) {
		exchange_fail(x, -EPROTO, REQ_FAULT_BROKEN, "the answer is not HTTP/1.1");
		return;
	}
	switch (code) {
	case CURLE_OK:
		break;
	case CURLE_COULDNT_RESOLVE_HOST:
		exchange_fail(x, -EHOSTUNREACH, REQ_FAULT_CONNECT, "its name is not known");
		break;
	case CURLE_COULDNT_CONNECT:
		exchange_fail(x, os ? (int)-os : -ECONNREFUSED, REQ_FAULT_CONNECT, NULL);
		break;
	case CURLE_OPERATION_TIMEDOUT:
		exchange_fail(x, -ETIMEDOUT, REQ_FAULT_CONNECT, NULL);
		break;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_ISSUER_ERROR:
		curl_classify_tls(h->easy, x, code, os);
		break;
	case CURLE_OUT_OF_MEMORY:
		exchange_fail(x, -ENOMEM, REQ_FAULT_OTHER, NULL);
		break;
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_FAILED_INIT:
		exchange_fail(x, -EINVAL, REQ_FAULT_OTHER, "libcurl takes no such request");
		break;
	default: /* less than a whole answer was received or sent */
		exchange_fail(x, -ECONNRESET, REQ_FAULT_BROKEN, "the connection broke");
	}
}

static void curl_measure(CURL *e, struct exchange *x)
{
	curl_off_t down = 0, up = 0;
	long heads = 0, asked = 0, connects = 0;

	curl_easy_getinfo(e, CURLINFO_SIZE_DOWNLOAD_T, &down);
	curl_easy_getinfo(e, CURLINFO_SIZE_UPLOAD_T, &up);
	curl_easy_getinfo(e, CURLINFO_HEADER_SIZE, &heads);
	curl_easy_getinfo(e, CURLINFO_REQUEST_SIZE, &asked);
	curl_easy_getinfo(e, CURLINFO_NUM_CONNECTS, &connects);
	x->wire_bytes = (uint64_t)down + (uint64_t)up + (uint64_t)heads + (uint64_t)asked;
	x->connections = (uint32_t)connects;
}

void curl_outcome(struct curl_handle *h, CURLcode code)
{
	struct exchange *x = h->exchange;

	curl_measure(h->easy, x);
	if (x->fault != REQ_FAULT_NONE || h->ended == EXCHANGE_ENOUGH)
		return;
	/* The first sending broke; the second was denied. */
	if (h->sendings && code == CURLE_COULDNT_CONNECT)
		code = CURLE_RECV_ERROR;
	if (h->ended < 0)
		x->status = h->ended;
	else
		curl_classify(h, code);
}
