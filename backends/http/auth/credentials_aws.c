/* SPDX-License-Identifier: Apache-2.0 */
/* Amazon's credentials: environment, shared file, metadata of a container or an instance. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/auth/credentials.h"
#include "backends/http/auth/fetch.h"
#include "backends/http/wire/text.h"
#include "core/json.h"

enum { AWS_FILE_BYTES_MAX = 1 << 20, AWS_ANSWER_BYTES = 8 << 10, AWS_METADATA_TOKEN_BYTES = 256 };

static const char aws_instance_default[] = "http://169.254.169.254";
static const char aws_container_default[] = "http://169.254.170.2";
static const char aws_instance_path[] = "/latest/meta-data/iam/security-credentials/";

static int aws_keep(char *to, size_t size, const char *value)
{
	size_t n = value ? strlen(value) : 0;

	if (n == 0 || n >= size)
		return -EINVAL;
	memcpy(to, value, n + 1);
	return 0;
}

static char *aws_trim(char *s)
{
	size_t n;

	s += strspn(s, " \t");
	n = strcspn(s, "\r\n");
	while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
		n--;
	s[n] = '\0';
	return s;
}

/* A line "name = value" of the profile's section. */
static int aws_setting(struct credentials *c, char *line)
{
	char *equals = strchr(line, '='), *name, *value;

	if (!equals)
		return 0;
	*equals = '\0';
	name = aws_trim(line);
	value = aws_trim(equals + 1);
	if (strcmp(name, "aws_access_key_id") == 0)
		return aws_keep(c->key, sizeof(c->key), value);
	if (strcmp(name, "aws_secret_access_key") == 0)
		return aws_keep(c->secret, sizeof(c->secret), value);
	if (strcmp(name, "aws_session_token") == 0)
		return aws_keep(c->token, sizeof(c->token), value);
	return 0;
}

int credentials_parse_profile(char *text, const char *profile, struct credentials *out)
{
	bool inside = false, seen = false;
	char *line, *rest = text;
	int rc = 0;

	*out = (struct credentials){0};
	while (rc == 0 && (line = strsep(&rest, "\n")) != NULL) {
		line = aws_trim(line);
		if (line[0] == '#' || line[0] == ';' || line[0] == '\0')
			continue;
		if (line[0] != '[') {
			rc = inside ? aws_setting(out, line) : 0;
			continue;
		}
		line[strcspn(line, "]")] = '\0';
		line = aws_trim(line + 1);
		/* The config file names them this way. */
		if (strncmp(line, "profile ", 8) == 0)
			line = aws_trim(line + 8);
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
	rc = aws_keep(out->key, sizeof(out->key),
		      cJSON_GetStringValue(cJSON_GetObjectItem(root, "AccessKeyId")));
	if (rc == 0)
		rc = aws_keep(out->secret, sizeof(out->secret),
			      cJSON_GetStringValue(cJSON_GetObjectItem(root, "SecretAccessKey")));
	/* Some such services give out keys without a session. */
	token = cJSON_GetStringValue(cJSON_GetObjectItem(root, "Token"));
	if (rc == 0 && token && token[0])
		rc = aws_keep(out->token, sizeof(out->token), token);
	expires = cJSON_GetStringValue(cJSON_GetObjectItem(root, "Expiration"));
	out->expires = expires ? date_parse(expires) : 0;
	if (out->expires < 0)
		rc = -EINVAL;
	cJSON_Delete(root);
	return rc;
}

static int aws_from_environment(struct credential_source *s)
{
	const char *token = getenv("AWS_SESSION_TOKEN");
	int rc = aws_keep(s->now.key, sizeof(s->now.key), getenv("AWS_ACCESS_KEY_ID"));

	if (rc == 0)
		rc = aws_keep(s->now.secret, sizeof(s->now.secret),
			      getenv("AWS_SECRET_ACCESS_KEY"));
	if (rc == 0 && token && token[0])
		rc = aws_keep(s->now.token, sizeof(s->now.token), token);
	s->origin = "environment";
	return rc;
}

static int aws_file_name(char *out, size_t size)
{
	const char *name = getenv("AWS_SHARED_CREDENTIALS_FILE"), *home = getenv("HOME");
	int n = name && name[0] ? snprintf(out, size, "%s", name)
				: snprintf(out, size, "%s/.aws/credentials", home ? home : "");

	return n > 0 && (size_t)n < size ? 0 : -ENAMETOOLONG;
}

/* Reads the file again when the keys have expired: another program may have renewed them. */
static int aws_fetch_file(struct credential_source *s, struct credentials *out, struct err *err)
{
	char *text;
	int rc = file_text(s->uri, AWS_FILE_BYTES_MAX, &text);

	(void)err;
	if (rc < 0)
		return rc;
	rc = credentials_parse_profile(text, s->profile, out);
	free(text);
	return rc;
}

static int aws_from_file(struct credential_source *s)
{
	int rc = aws_file_name(s->uri, sizeof(s->uri));

	if (rc == 0)
		rc = aws_fetch_file(s, &s->now, NULL);
	s->origin = "shared credentials file";
	s->fetch = aws_fetch_file;
	return rc;
}

static int aws_fetch_container(struct credential_source *s, struct credentials *out,
			       struct err *err)
{
	const char *token = getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	char answer[AWS_ANSWER_BYTES], header[CREDENTIAL_TOKEN_BYTES];
	const char *headers[] = {header, NULL};
	int rc;

	snprintf(header, sizeof(header), "authorization: %s", token ? token : "");
	rc = fetch_text(s, HTTP_GET, s->uri, token ? headers : NULL, NULL, answer, sizeof(answer),
			err);
	return rc < 0 ? rc : credentials_parse_aws(answer, strlen(answer), out);
}

static int aws_from_container(struct credential_source *s)
{
	const char *whole = getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	const char *relative = getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	int n;

	if (!whole && !relative)
		return -ENOENT;
	n = snprintf(s->uri, sizeof(s->uri), "%s%s", whole ? "" : aws_container_default,
		     whole ? whole : relative);
	if (n < 0 || (size_t)n >= sizeof(s->uri))
		return -ENAMETOOLONG;
	s->origin = "container metadata";
	s->fetch = aws_fetch_container;
	return aws_fetch_container(s, &s->now, NULL);
}

/* Version 2 of the service gives a token first, then the role's name, then its keys. */
static int aws_fetch_instance(struct credential_source *s, struct credentials *out, struct err *err)
{
	static const char *const ask[] = {"x-aws-ec2-metadata-token-ttl-seconds: 21600", NULL};
	char token[AWS_METADATA_TOKEN_BYTES], header[AWS_METADATA_TOKEN_BYTES + 32];
	char uri[768], role[128], answer[AWS_ANSWER_BYTES];
	const char *headers[] = {header, NULL};
	int rc;

	snprintf(uri, sizeof(uri), "%s/latest/api/token", s->uri);
	rc = fetch_text(s, HTTP_PUT, uri, ask, NULL, token, sizeof(token), err);
	snprintf(header, sizeof(header), "x-aws-ec2-metadata-token: %s", token);
	snprintf(uri, sizeof(uri), "%s%s", s->uri, aws_instance_path);
	if (rc == 0)
		rc = fetch_text(s, HTTP_GET, uri, headers, NULL, role, sizeof(role), err);
	if (rc < 0)
		return rc;
	snprintf(uri, sizeof(uri), "%s%s%s", s->uri, aws_instance_path, aws_trim(role));
	rc = fetch_text(s, HTTP_GET, uri, headers, NULL, answer, sizeof(answer), err);
	return rc < 0 ? rc : credentials_parse_aws(answer, strlen(answer), out);
}

static int aws_from_instance(struct credential_source *s)
{
	const char *disabled = getenv("AWS_EC2_METADATA_DISABLED");
	const char *uri = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");

	if (disabled && strcasecmp(disabled, "true") == 0)
		return -ENOENT;
	snprintf(s->uri, sizeof(s->uri), "%s", uri && uri[0] ? uri : aws_instance_default);
	s->origin = "instance metadata";
	s->fetch = aws_fetch_instance;
	return aws_fetch_instance(s, &s->now, NULL);
}

int credentials_aws(struct credential_source *s, const char *profile, struct err *err)
{
	const char *named = profile[0] ? profile : getenv("AWS_PROFILE");
	int rc = -ENOENT;

	s->kind = CREDENTIAL_V4;
	snprintf(s->profile, sizeof(s->profile), "%s", named && named[0] ? named : "default");
	/* A profile that the job names counts more than the environment. */
	if (!profile[0])
		rc = aws_from_environment(s);
	if (rc < 0)
		rc = aws_from_file(s);
	if (rc < 0 && profile[0])
		return err_set(err, -ENOKEY, "%s has no profile \"%s\" with a key and its secret",
			       s->uri, profile);
	if (rc < 0)
		rc = aws_from_container(s);
	if (rc < 0)
		rc = aws_from_instance(s);
	if (rc < 0)
		return err_set(
			err, -ENOKEY,
			"no credentials: not in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
			"not in ~/.aws/credentials under \"%s\", no instance metadata",
			s->profile);
	credentials_begin(s);
	return 0;
}
