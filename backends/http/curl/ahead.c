#include "backends/http/curl/ahead.h"

#include <openssl/ssl.h>
#include <string.h>

#include "backends/http/wire/suites.h"

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

static CURLcode curl_on_context(CURL *easy, void *context, void *records)
{
	(void)easy;
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
