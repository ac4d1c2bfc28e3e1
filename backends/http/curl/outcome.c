/* libcurl's codes in haul's terms. */
#include <errno.h>
#include <openssl/x509_vfy.h>

#include "backends/http/curl/outcome.h"

/* Why a certificate was not believed. */
static const char *tls_why(CURL *e, CURLcode code)
{
	long result = 0;

	curl_easy_getinfo(e, CURLINFO_SSL_VERIFYRESULT, &result);
	if (code == CURLE_SSL_CACERT_BADFILE)
		return "the CA bundle cannot be read";
	switch (result) {
	case X509_V_OK:
	case X509_V_ERR_UNSPECIFIED: /* what stands there until a certificate has been looked at */
		return code == CURLE_PEER_FAILED_VERIFICATION
			       ? "the server's certificate is for another host"
			       : "no TLS with this server";
	case X509_V_ERR_CERT_HAS_EXPIRED:
		return "the server's certificate has expired";
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return "the server's certificate is not valid yet";
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
		return "no CA that is known signed the server's certificate; name its bundle by "
		       "\"ca\"";
	default:
		return "the server's certificate is not accepted";
	}
}

void exchange_fail(struct exchange *x, int status, enum request_fault fault, const char *why)
{
	x->status = status;
	x->fault = fault;
	x->why = why;
}

static void classify(CURL *e, struct exchange *x, CURLcode code)
{
	long os = 0;

	curl_easy_getinfo(e, CURLINFO_OS_ERRNO, &os);
	switch (code) {
	case CURLE_OK:
		break;
	case CURLE_COULDNT_RESOLVE_HOST:
		exchange_fail(x, -EHOSTUNREACH, REQ_FAULT_CONNECT,
			      "the server's name is not known");
		break;
	case CURLE_COULDNT_CONNECT:
		exchange_fail(x, os ? (int)-os : -ECONNREFUSED, REQ_FAULT_CONNECT, "no connection");
		break;
	case CURLE_OPERATION_TIMEDOUT:
		exchange_fail(x, -ETIMEDOUT, REQ_FAULT_CONNECT, "no connection in time");
		break;
	case CURLE_SSL_CONNECT_ERROR:
		/* Ended in the handshake: a server that dies looks like this. */
		if (os == ECONNRESET || os == EPIPE)
			exchange_fail(x, (int)-os, REQ_FAULT_CONNECT,
				      "the connection broke in the handshake");
		else
			exchange_fail(x, -EPROTO, REQ_FAULT_TLS, tls_why(e, code));
		break;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_ISSUER_ERROR:
		exchange_fail(x, -EPROTO, REQ_FAULT_TLS, tls_why(e, code));
		break;
	case CURLE_OUT_OF_MEMORY:
		exchange_fail(x, -ENOMEM, REQ_FAULT_OTHER, NULL);
		break;
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_FAILED_INIT:
		exchange_fail(x, -EINVAL, REQ_FAULT_OTHER, "libcurl takes no such request");
		break;
	default: /* received or sent less than a whole answer, or no HTTP */
		exchange_fail(x, -ECONNRESET, REQ_FAULT_BROKEN, "the connection broke");
	}
}

/* What curl saw of it, before the handle goes on to another. */
static void measure(CURL *e, struct exchange *x)
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

void curl_outcome(CURL *e, struct exchange *x, CURLcode code)
{
	measure(e, x);
	if (x->fault == REQ_FAULT_NONE && x->ended < 0)
		x->status = x->ended;
	else if (x->fault == REQ_FAULT_NONE)
		classify(e, x, code);
}
