/* SPDX-License-Identifier: Apache-2.0 */
/* Azure's credentials: connection string, account key, shared access signature, or a token for a
 * service principal or a managed identity. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "backends/http/auth/credentials.h"
#include "backends/http/auth/fetch.h"
#include "backends/http/wire/text.h"
#include "core/numbers.h"
#include "core/time_ns.h"

enum { AZURE_ANSWER_BYTES = 8 << 10, AZURE_STRING_BYTES = 4096, AZURE_KEY_BYTES = 128 };

static const char azure_resource[] = "https%3A%2F%2Fstorage.azure.com";

static const char *azure_variable(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

static int azure_keep(char *to, size_t size, const char *value)
{
	size_t n = strlen(value);

	if (n == 0 || n >= size)
		return -EINVAL;
	memcpy(to, value, n + 1);
	return 0;
}

/* "UseDevelopmentStorage=true": the emulator on this machine, whose account and key are in its
 * documentation and no secret. Source: learn.microsoft.com, "Connect to Azurite with SDKs and
 * tools". */
static void azure_development(struct azure_connection *c)
{
	snprintf(c->account, sizeof(c->account), "devstoreaccount1");
	snprintf(
		c->key, sizeof(c->key),
		"Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==");
	snprintf(c->endpoint, sizeof(c->endpoint), "http://127.0.0.1:10000/devstoreaccount1");
}

int credentials_parse_connection(char *text, struct azure_connection *out)
{
	struct azure_connection c = {.protocol = "https", .suffix = "core.windows.net"};
	struct {
		const char *name;
		char *to;
		size_t size;
	} fields[] = {
		{"AccountName", c.account, sizeof(c.account)},
		{"AccountKey", c.key, sizeof(c.key)},
		{"SharedAccessSignature", c.sas, sizeof(c.sas)},
		{"BlobEndpoint", c.endpoint, sizeof(c.endpoint)},
		{"DefaultEndpointsProtocol", c.protocol, sizeof(c.protocol)},
		{"EndpointSuffix", c.suffix, sizeof(c.suffix)},
	};
	char *part, *rest = text, *equals;
	bool development = false;
	int n;

	while ((part = strsep(&rest, ";")) != NULL) {
		equals = strchr(part, '=');
		if (!equals)
			continue;
		*equals = '\0';
		if (strcmp(part, "UseDevelopmentStorage") == 0)
			development = strcasecmp(equals + 1, "true") == 0;
		for (size_t i = 0; i < COUNT(fields); i++) {
			if (strcmp(part, fields[i].name) == 0 &&
			    azure_keep(fields[i].to, fields[i].size, equals + 1) < 0)
				return -EINVAL;
		}
	}
	if (development)
		azure_development(&c);
	if (!c.account[0] || (!c.key[0] && !c.sas[0]))
		return -EINVAL;
	if (!c.endpoint[0]) {
		n = snprintf(c.endpoint, sizeof(c.endpoint), "%s://%s.blob.%s", c.protocol,
			     c.account, c.suffix);
		if (n < 0 || (size_t)n >= sizeof(c.endpoint))
			return -EINVAL;
	}
	*out = c;
	return 0;
}

int64_t credentials_sas_end(const char *sas)
{
	char date[40];
	size_t n = 0;

	for (; sas; sas = strchr(sas, '&') ? strchr(sas, '&') + 1 : NULL) {
		if (strncmp(sas, "se=", 3) != 0)
			continue;
		for (const char *s = sas + 3; *s && *s != '&' && n + 1 < sizeof(date); s++) {
			if (strncasecmp(s, "%3a", 3) == 0) {
				date[n++] = ':';
				s += 2;
			} else {
				date[n++] = *s;
			}
		}
		date[n] = '\0';
		return date_parse(date);
	}
	return -1;
}

static int azure_use_sas(struct credential_source *s, const char *sas, struct err *err)
{
	int64_t ends;
	int rc = azure_keep(s->now.token, sizeof(s->now.token), sas[0] == '?' ? sas + 1 : sas);

	s->kind = CREDENTIAL_SAS;
	if (rc < 0)
		return err_set(err, rc, "the shared access signature is too long");
	ends = credentials_sas_end(s->now.token);
	if (ends > 0 && ends < (int64_t)(clock_utc_ns() / NS_PER_S))
		return err_set(err, -EKEYEXPIRED, "the shared access signature has expired");
	return 0;
}

static int azure_use_key(struct credential_source *s, const char *account, const char *key,
			 struct err *err)
{
	uint8_t bytes[AZURE_KEY_BYTES];
	int rc = azure_keep(s->now.key, sizeof(s->now.key), account);

	s->kind = CREDENTIAL_SHARED;
	if (rc == 0)
		rc = azure_keep(s->now.secret, sizeof(s->now.secret), key);
	if (rc < 0 || text_from_base64(key, bytes, sizeof(bytes)) < 0)
		return err_set(err, -EINVAL, "the account's key is not base64, or it is too long");
	return 0;
}

static int azure_use_connection(struct credential_source *s, const char *account, const char *text,
				char *endpoint, size_t size, struct err *err)
{
	char copy[AZURE_STRING_BYTES];
	struct azure_connection c;

	if (azure_keep(copy, sizeof(copy), text) < 0 || credentials_parse_connection(copy, &c) < 0)
		return err_set(
			err, -EINVAL,
			"AZURE_STORAGE_CONNECTION_STRING has no account with a key or a shared "
			"access signature");
	if (strcmp(c.account, account) != 0)
		return err_set(err, -EINVAL,
			       "AZURE_STORAGE_CONNECTION_STRING names the account \"%s\", the URI "
			       "names \"%s\"",
			       c.account, account);
	if (azure_keep(endpoint, size, c.endpoint) < 0)
		return err_set(err, -EINVAL, "the connection string's endpoint is too long");
	return c.key[0] ? azure_use_key(s, account, c.key, err) : azure_use_sas(s, c.sas, err);
}

/* The token of a service principal. */
static int azure_fetch_principal(struct credential_source *s, struct credentials *out,
				 struct err *err)
{
	static const char *const headers[] = {"content-type: application/x-www-form-urlencoded",
					      NULL};
	const char *id = azure_variable("AZURE_CLIENT_ID"),
		   *secret = azure_variable("AZURE_CLIENT_SECRET");
	char body[AZURE_STRING_BYTES], answer[AZURE_ANSWER_BYTES];
	struct text t = text_in(body, sizeof(body));
	int64_t asked = credentials_seconds();
	int rc;

	text_add(&t, "grant_type=client_credentials&scope=");
	text_add(&t, azure_resource);
	text_add(&t, "%2F.default&client_id=");
	text_add_encoded(&t, id ? id : "", false);
	text_add(&t, "&client_secret=");
	text_add_encoded(&t, secret ? secret : "", false);
	if (t.full)
		return err_set(err, -EINVAL, "the service principal's secret is too long");
	rc = fetch_text(s, HTTP_POST, s->uri, headers, body, answer, sizeof(answer), err);
	return rc < 0 ? rc : credentials_parse_token(answer, strlen(answer), asked, out);
}

static int azure_use_principal(struct credential_source *s, struct err *err)
{
	const char *host = azure_variable("AZURE_AUTHORITY_HOST"),
		   *tenant = azure_variable("AZURE_TENANT_ID");
	int n;

	if (!host)
		host = "https://login.microsoftonline.com";
	n = snprintf(s->uri, sizeof(s->uri), "%s%.*s/%s/oauth2/v2.0/token",
		     strstr(host, "://") ? "" : "https://",
		     (int)strlen(host) - (host[strlen(host) - 1] == '/'), host, tenant);
	if (n < 0 || (size_t)n >= sizeof(s->uri))
		return err_set(err, -EINVAL, "AZURE_AUTHORITY_HOST is too long");
	s->kind = CREDENTIAL_BEARER;
	s->origin = "service principal";
	s->fetch = azure_fetch_principal;
	return azure_fetch_principal(s, &s->now, err);
}

static int azure_fetch_identity(struct credential_source *s, struct credentials *out,
				struct err *err)
{
	static const char *const headers[] = {"metadata: true", NULL};
	char answer[AZURE_ANSWER_BYTES];
	int64_t asked = credentials_seconds();
	int rc = fetch_text(s, HTTP_GET, s->uri, headers, NULL, answer, sizeof(answer), err);

	return rc < 0 ? rc : credentials_parse_token(answer, strlen(answer), asked, out);
}

static int azure_use_identity(struct credential_source *s)
{
	const char *host = azure_variable("AZURE_POD_IDENTITY_AUTHORITY_HOST");
	const char *id = azure_variable("AZURE_CLIENT_ID");
	int n;

	n = snprintf(s->uri, sizeof(s->uri),
		     "%s/metadata/identity/oauth2/token?api-version=2018-02-01&resource=%s%%2F%s%s",
		     host ? host : "http://169.254.169.254", azure_resource,
		     id ? "&client_id=" : "", id ? id : "");
	if (n < 0 || (size_t)n >= sizeof(s->uri))
		return -ENAMETOOLONG;
	s->kind = CREDENTIAL_BEARER;
	s->origin = "managed identity";
	s->fetch = azure_fetch_identity;
	return azure_fetch_identity(s, &s->now, NULL);
}

static int azure_find(struct credential_source *s, const char *account, char *endpoint, size_t size,
		      struct err *err)
{
	const char *connection = azure_variable("AZURE_STORAGE_CONNECTION_STRING");
	const char *named = azure_variable("AZURE_STORAGE_ACCOUNT"),
		   *key = azure_variable("AZURE_STORAGE_KEY");
	const char *sas = azure_variable("AZURE_STORAGE_SAS_TOKEN");

	s->origin = "environment";
	if (connection)
		return azure_use_connection(s, account, connection, endpoint, size, err);
	if (named && (key || sas) && strcmp(named, account) != 0)
		return err_set(err, -EINVAL,
			       "AZURE_STORAGE_ACCOUNT is \"%s\", the URI's account is \"%s\"",
			       named, account);
	if (key)
		return azure_use_key(s, account, key, err);
	if (sas)
		return azure_use_sas(s, sas, err);
	if (azure_variable("AZURE_CLIENT_SECRET") && azure_variable("AZURE_TENANT_ID") &&
	    azure_variable("AZURE_CLIENT_ID"))
		return azure_use_principal(s, err);
	if (azure_use_identity(s) < 0)
		return err_set(err, -ENOKEY,
			       "no credentials: not in AZURE_STORAGE_CONNECTION_STRING, "
			       "AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN, AZURE_CLIENT_ID and "
			       "AZURE_CLIENT_SECRET, no managed identity");
	return 0;
}

int credentials_azure(struct credential_source *s, const char *account, char *endpoint, size_t size,
		      struct err *err)
{
	int rc = azure_find(s, account, endpoint, size, err);

	if (rc < 0)
		return rc;
	credentials_begin(s);
	return 0;
}
