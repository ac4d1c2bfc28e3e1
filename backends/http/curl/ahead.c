/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/curl/ahead.h"

#include <openssl/ssl.h>
#include <string.h>

#include "backends/http/wire/certificate.h"
#include "backends/http/wire/suites.h"

enum { CURL_HOST_BYTES = 640 };

bool curl_ahead_possible(void)
{
	static const char name[] = "OpenSSL/";
	const char *tls = curl_version_info(CURLVERSION_NOW)->ssl_version;

	return tls && strncmp(tls, name, strlen(name)) == 0 &&
	       strcmp(tls + strlen(name), OpenSSL_version(OPENSSL_VERSION_STRING)) == 0;
}

static void curl_on_record(int written, int version, int type, const void *data, size_t bytes,
			   SSL *ssl, void *records)
{
	uint64_t *count = records;

	(void)version;
	(void)data;
	(void)bytes;
	(void)ssl;
	*count += !written && type == SSL3_RT_HEADER;
}

/* The host of a URL without its user, brackets and port. Returns false where it is too long. */
static bool curl_host_of(const char *url, char host[CURL_HOST_BYTES])
{
	const char *from = strstr(url, "://");
	size_t n;

	from = from ? from + 3 : url;
	n = from[0] == '[' ? strcspn(++from, "]") : strcspn(from, ":/?#");
	if (n >= CURL_HOST_BYTES)
		return false;
	memcpy(host, from, n);
	host[n] = '\0';
	return true;
}

/* libcurl takes a name in the subject of a certificate, too; with this, OpenSSL has the word before
 * it. */
static bool curl_expect(CURL *easy, SSL_CTX *context)
{
	char host[CURL_HOST_BYTES], *url = NULL;

	if (SSL_CTX_get_verify_mode(context) == SSL_VERIFY_NONE)
		return true;
	return curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url) == CURLE_OK && url &&
	       curl_host_of(url, host) && certificate_expect(SSL_CTX_get0_param(context), host);
}

static CURLcode curl_on_context(CURL *easy, void *context, void *records)
{
	if (!curl_expect(easy, context))
		return CURLE_SSL_CERTPROBLEM;
	suites_prefer_short(context);
	SSL_CTX_set_read_ahead(context, 1);
	SSL_CTX_set_msg_callback(context, curl_on_record);
	SSL_CTX_set_msg_callback_arg(context, records);
	return CURLE_OK;
}

void curl_ahead_set(CURL *easy, uint64_t *records)
{
	curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, curl_on_context);
	curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, records);
}

bool curl_ahead_left(CURL *easy)
{
	struct curl_tlssessioninfo *session = NULL;

	return curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) == CURLE_OK && session &&
	       session->internals && SSL_has_pending(session->internals);
}
