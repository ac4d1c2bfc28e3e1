#include "backends/http/curl/ahead.h"

#include <openssl/ssl.h>
#include <string.h>

bool curl_ahead_possible(void)
{
	static const char name[] = "OpenSSL/";
	const char *tls = curl_version_info(CURLVERSION_NOW)->ssl_version;

	return tls && strncmp(tls, name, strlen(name)) == 0 &&
	       strcmp(tls + strlen(name), OpenSSL_version(OPENSSL_VERSION_STRING)) == 0;
}

static CURLcode curl_on_context(CURL *easy, void *context, void *user)
{
	(void)easy;
	(void)user;
	SSL_CTX_set_read_ahead(context, 1);
	return CURLE_OK;
}

void curl_ahead_set(CURL *easy)
{
	curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, curl_on_context);
}

bool curl_ahead_left(CURL *easy)
{
	struct curl_tlssessioninfo *session = NULL;

	return curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) == CURLE_OK && session &&
	       session->internals && SSL_has_pending(session->internals);
}
