/* Amazon's chain of credentials. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/auth/credentials.h"
#include "backends/http/auth/fetch.h"
#include "core/json.h"

enum { FILE_BYTES_MAX = 1 << 20, ANSWER_BYTES = 8 << 10, METADATA_TOKEN_BYTES = 256 };

static const char instance_default[] = "http://169.254.169.254";
static const char container_default[] = "http://169.254.170.2";
static const char instance_path[] = "/latest/meta-data/iam/security-credentials/";

static int take(char *to, size_t size, const char *value)
{
	size_t n = value ? strlen(value) : 0;

	if (n == 0 || n >= size)
		return -EINVAL;
	memcpy(to, value, n + 1);
	return 0;
}

static char *trim(char *s)
{
	size_t n;

	s += strspn(s, " \t");
	n = strcspn(s, "\r\n");
	while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
		n--;
	s[n] = '\0';
	return s;
}

/* "name = value" of the profile's section. */
static int setting(struct credentials *c, char *line)
{
	char *equals = strchr(line, '='), *name, *value;

	if (!equals)
		return 0;
	*equals = '\0';
	name = trim(line);
	value = trim(equals + 1);
	if (strcmp(name, "aws_access_key_id") == 0)
		return take(c->key, sizeof(c->key), value);
	if (strcmp(name, "aws_secret_access_key") == 0)
		return take(c->secret, sizeof(c->secret), value);
	if (strcmp(name, "aws_session_token") == 0)
		return take(c->token, sizeof(c->token), value);
	return 0;
}

int credentials_parse_profile(char *text, const char *profile, struct credentials *out)
{
	bool inside = false, seen = false;
	char *line, *rest = text;
	int rc = 0;

	*out = (struct credentials){0};
	while (rc == 0 && (line = strsep(&rest, "\n")) != NULL) {
		line = trim(line);
		if (line[0] == '#' || line[0] == ';' || line[0] == '\0')
			continue;
		if (line[0] != '[') {
			rc = inside ? setting(out, line) : 0;
			continue;
		}
		line[strcspn(line, "]")] = '\0';
		line = trim(line + 1);
		/* The config file's way of naming them is understood, too. */
		if (strncmp(line, "profile ", 8) == 0)
			line = trim(line + 8);
		inside = strcmp(line, profile) == 0;
		seen = seen || inside;
	}
	if (rc < 0)
		return rc;
	return seen && out->key[0] && out->secret[0] ? 0 : -ENOENT;
}

int credentials_parse_aws(const char *json, size_t n, struct credentials *out)
{
	const char *expires, *token;
	cJSON *root;
	int rc = json_parse(&root, json, n, 8, 64, NULL);

	*out = (struct credentials){0};
	if (rc < 0)
		return rc;
	rc = take(out->key, sizeof(out->key),
		  cJSON_GetStringValue(cJSON_GetObjectItem(root, "AccessKeyId")));
	if (rc == 0)
		rc = take(out->secret, sizeof(out->secret),
			  cJSON_GetStringValue(cJSON_GetObjectItem(root, "SecretAccessKey")));
	/* Some services of this form hand out keys without a session. */
	token = cJSON_GetStringValue(cJSON_GetObjectItem(root, "Token"));
	if (rc == 0 && token && token[0])
		rc = take(out->token, sizeof(out->token), token);
	expires = cJSON_GetStringValue(cJSON_GetObjectItem(root, "Expiration"));
	out->expires = expires ? date_parse(expires) : 0;
	if (out->expires < 0)
		rc = -EINVAL;
	cJSON_Delete(root);
	return rc;
}

static int from_environment(struct credential_source *s)
{
	const char *token = getenv("AWS_SESSION_TOKEN");
	int rc = take(s->now.key, sizeof(s->now.key), getenv("AWS_ACCESS_KEY_ID"));

	if (rc == 0)
		rc = take(s->now.secret, sizeof(s->now.secret), getenv("AWS_SECRET_ACCESS_KEY"));
	if (rc == 0 && token && token[0])
		rc = take(s->now.token, sizeof(s->now.token), token);
	s->origin = "environment";
	return rc;
}

static int file_name(char *out, size_t size)
{
	const char *name = getenv("AWS_SHARED_CREDENTIALS_FILE"), *home = getenv("HOME");
	int n = name && name[0] ? snprintf(out, size, "%s", name)
				: snprintf(out, size, "%s/.aws/credentials", home ? home : "");

	return n > 0 && (size_t)n < size ? 0 : -ENAMETOOLONG;
}

/* Read anew when they have expired: another program may have renewed them. */
static int fetch_file(struct credential_source *s, struct credentials *out, struct err *err)
{
	char *text;
	int rc = file_text(s->uri, FILE_BYTES_MAX, &text);

	(void)err;
	if (rc < 0)
		return rc;
	rc = credentials_parse_profile(text, s->profile, out);
	free(text);
	return rc;
}

static int from_file(struct credential_source *s)
{
	int rc = file_name(s->uri, sizeof(s->uri));

	if (rc == 0)
		rc = fetch_file(s, &s->now, NULL);
	s->origin = "shared credentials file";
	s->fetch = fetch_file;
	return rc;
}

static int fetch_container(struct credential_source *s, struct credentials *out, struct err *err)
{
	const char *token = getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	char answer[ANSWER_BYTES], header[CREDENTIAL_TOKEN_BYTES];
	const char *headers[] = {header, NULL};
	int rc;

	snprintf(header, sizeof(header), "authorization: %s", token ? token : "");
	rc = fetch_text(&s->transport, HTTP_GET, s->uri, token ? headers : NULL, NULL, answer,
			sizeof(answer), err);
	return rc < 0 ? rc : credentials_parse_aws(answer, strlen(answer), out);
}

static int from_container(struct credential_source *s)
{
	const char *whole = getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	const char *relative = getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	int n;

	if (!whole && !relative)
		return -ENOENT;
	n = snprintf(s->uri, sizeof(s->uri), "%s%s", whole ? "" : container_default,
		     whole ? whole : relative);
	if (n < 0 || (size_t)n >= sizeof(s->uri))
		return -ENAMETOOLONG;
	s->origin = "container metadata";
	s->fetch = fetch_container;
	return fetch_container(s, &s->now, NULL);
}

/* Version 2 of the service: a token first, then the role's name, then its keys. */
static int fetch_instance(struct credential_source *s, struct credentials *out, struct err *err)
{
	static const char *const ask[] = {"x-aws-ec2-metadata-token-ttl-seconds: 21600", NULL};
	char token[METADATA_TOKEN_BYTES], header[METADATA_TOKEN_BYTES + 32], uri[768], role[128],
		answer[ANSWER_BYTES];
	const char *headers[] = {header, NULL};
	int rc;

	snprintf(uri, sizeof(uri), "%s/latest/api/token", s->uri);
	rc = fetch_text(&s->transport, HTTP_PUT, uri, ask, NULL, token, sizeof(token), err);
	snprintf(header, sizeof(header), "x-aws-ec2-metadata-token: %s", token);
	snprintf(uri, sizeof(uri), "%s%s", s->uri, instance_path);
	if (rc == 0)
		rc = fetch_text(&s->transport, HTTP_GET, uri, headers, NULL, role, sizeof(role),
				err);
	if (rc < 0)
		return rc;
	snprintf(uri, sizeof(uri), "%s%s%s", s->uri, instance_path, trim(role));
	rc = fetch_text(&s->transport, HTTP_GET, uri, headers, NULL, answer, sizeof(answer), err);
	return rc < 0 ? rc : credentials_parse_aws(answer, strlen(answer), out);
}

static int from_instance(struct credential_source *s)
{
	const char *disabled = getenv("AWS_EC2_METADATA_DISABLED");
	const char *uri = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");

	if (disabled && strcasecmp(disabled, "true") == 0)
		return -ENOENT;
	snprintf(s->uri, sizeof(s->uri), "%s", uri && uri[0] ? uri : instance_default);
	s->origin = "instance metadata";
	s->fetch = fetch_instance;
	return fetch_instance(s, &s->now, NULL);
}

int credentials_aws(struct credential_source *s, const char *profile, struct err *err)
{
	const char *named = profile[0] ? profile : getenv("AWS_PROFILE");
	int rc = -ENOENT;

	s->kind = CREDENTIAL_V4;
	snprintf(s->profile, sizeof(s->profile), "%s", named && named[0] ? named : "default");
	/* A profile that is asked for by name goes before the environment. */
	if (!profile[0])
		rc = from_environment(s);
	if (rc < 0)
		rc = from_file(s);
	if (rc < 0 && profile[0])
		return err_set(err, -ENOKEY, "%s has no profile \"%s\" with a key and its secret",
			       s->uri, profile);
	if (rc < 0)
		rc = from_container(s);
	if (rc < 0)
		rc = from_instance(s);
	if (rc < 0)
		return err_set(
			err, -ENOKEY,
			"no credentials: not in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
			"not in ~/.aws/credentials under \"%s\", no instance metadata",
			s->profile);
	credentials_begin(s);
	return 0;
}
