/* SPDX-License-Identifier: Apache-2.0 */
/* Store URIs: see uri.h. */
#include "core/uri.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/numbers.h"

enum { VARIABLE_BYTES = 128 };

/* The output of an expansion. */
struct expansion {
	char *out;
	size_t length;
	const struct rank_place *place;
	struct err *err;
};

static bool scheme_character(char c, bool first)
{
	return (c >= 'a' && c <= 'z') ||
	       (!first && ((c >= '0' && c <= '9') || (c && strchr("+.-", c))));
}

/* Guesses what was meant: a scheme with wrong slashes, a plain path, or something else. */
static int uri_refuse(const char *uri, size_t scheme_length, struct err *err)
{
	char quoted[JSON_QUOTE_BYTES];
	const char *rest;
	int shown;

	/* It may hold a secret. */
	if (strpbrk(uri, "@?#"))
		return err_set(err, -EINVAL,
			       "a text with \"%c\" is not a URI; write it as scheme://place, as in "
			       "file:///scratch/train",
			       *strpbrk(uri, "@?#"));
	json_quote(quoted, uri);
	if (!json_text_plain(uri))
		return err_set(err, -EINVAL, "%s is not a URI: it holds control characters",
			       quoted);
	if (*uri == '/')
		return err_set(err, -EINVAL, "%s is not a URI; write it as file://%.60s", quoted,
			       uri);
	if (!scheme_length || uri[scheme_length] != ':')
		return err_set(
			err, -EINVAL,
			"%s is not a URI; write it as scheme://place, as in file:///scratch/train",
			quoted);
	shown = (int)scheme_length;
	if (scheme_length >= URI_SCHEME_BYTES)
		return err_set(err, -EINVAL,
			       "%s is not a URI: its scheme is longer than %d characters", quoted,
			       URI_SCHEME_BYTES - 1);
	rest = uri + scheme_length + 1;
	rest += strspn(rest, "/");
	return err_set(err, -EINVAL, "%s is not a URI; write it as %.*s://%s%.60s", quoted, shown,
		       uri, shown == 4 && !strncmp(uri, "file", 4) ? "/" : "",
		       *rest ? rest : "bucket/prefix");
}

/* Of one URI, which begins at scheme and goes on behind rest. */
static bool user_stands(const char *scheme, const char *rest)
{
	static const char *const without[] = {"file://", "direct://", "abfs://", "abfss://"};

	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		size_t n = strlen(without[i]);

		if (rest >= scheme + n && memcmp(rest - n, without[i], n) == 0)
			return false;
	}
	return rest[strcspn(rest, "@/?#\"' ")] == '@';
}

/* Whether a text holds a URI with user information, such as s3://KEY:SECRET@bucket, which no
 * message may show. Files, and abfs://, whose containers stand there, have none. */
static bool uri_has_user(const char *text)
{
	for (const char *at = text; (at = strstr(at, "://")) != NULL; at += 3)
		if (user_stands(text, at + 3))
			return true;
	return false;
}

/* Whether a text holds a URI with a query or a fragment, such as s3://bucket/x?X-Amz-Signature=SECRET, which would become the
 * name of a folder. Paths of files and of DAOS may have these characters. */
static bool uri_has_query(const char *text)
{
	static const char *const paths[] = {"file", "direct", "daos"};

	for (const char *at = text; (at = strstr(at, "://")) != NULL; at += 3) {
		bool path = false;

		for (size_t i = 0; i < COUNT(paths); i++) {
			size_t n = strlen(paths[i]);

			path |= (size_t)(at - text) >= n && memcmp(at - n, paths[i], n) == 0;
		}
		if (!path && strpbrk(at, "?#"))
			return true;
	}
	return false;
}

int uri_change_shown(const char *change)
{
	size_t n = strpbrk(change, "@?#") ? strcspn(change, "=") : strlen(change);

	return (int)min_u64(n, 100);
}

/* Refuses what no message may show. */
static int uri_refuse_secret(const char *uri, struct err *err)
{
	if (!uri_has_user(uri) && !uri_has_query(uri))
		return 0;
	if (!uri_has_user(uri))
		return err_set(
			err, -EINVAL,
			"a URI of an object store has no query and no fragment: leave out all "
			"from \"?\" or \"#\" on (what is signed there is a secret)");
	return err_set(err, -EINVAL,
		       "a URI holds no user and no secret before an \"@\": haul takes credentials "
		       "from the environment or from the files of the store's own tools");
}

int uri_scheme(const char *uri, char scheme[URI_SCHEME_BYTES], struct err *err)
{
	size_t n = 0;

	while (scheme_character(uri[n], !n))
		n++;
	if (!n || n >= URI_SCHEME_BYTES || strncmp(uri + n, "://", 3) || !json_text_plain(uri))
		return uri_refuse(uri, n, err);
	if (strlen(uri) >= URI_BYTES)
		return err_set(err, -EINVAL, "a URI must be shorter than %d bytes, is %zu",
			       URI_BYTES, strlen(uri));
	memcpy(scheme, uri, n);
	scheme[n] = '\0';
	return uri_refuse_secret(uri, err);
}

static int expand_append(struct expansion *e, const char *text, size_t length)
{
	if (e->length + length >= URI_BYTES)
		return err_set(e->err, -EINVAL, "a URI must be shorter than %d bytes when expanded",
			       URI_BYTES);
	memcpy(e->out + e->length, text, length);
	e->length += length;
	e->out[e->length] = '\0';
	return 0;
}

static int expand_variable(struct expansion *e, const char *name, size_t length)
{
	char copy[VARIABLE_BYTES], quoted[JSON_QUOTE_BYTES];
	const char *value, *other = NULL, *end = name + length;
	size_t i;

	/* "${NAME:-other}", as shells write it. */
	for (i = 0; i + 1 < length && !other; i++)
		other = name[i] == ':' && name[i + 1] == '-' ? name + i + 2 : NULL;
	if (other)
		length = (size_t)(other - 2 - name);

	for (i = 0; i < length; i++)
		if (!(name[i] == '_' || (name[i] >= 'A' && name[i] <= 'Z') ||
		      (name[i] >= 'a' && name[i] <= 'z') ||
		      (i && name[i] >= '0' && name[i] <= '9')))
			break;
	snprintf(copy, sizeof(copy), "%.*s",
		 (int)(length < sizeof(copy) ? length : sizeof(copy) - 1), name);
	if (!length || i < length || length >= sizeof(copy))
		return err_set(e->err, -EINVAL, "%s is not the name of a variable",
			       json_quote(quoted, copy));
	value = getenv(copy);
	if (other && (!value || !*value))
		return expand_append(e, other, (size_t)(end - other));
	if (!value)
		return err_set(e->err, -EINVAL, "${%s} is not set in the environment", copy);
	return expand_append(e, value, strlen(value));
}

static int expand_placeholder(struct expansion *e, const char *name, size_t length)
{
	static const char *const names[] = {"rank", "node", "local_rank"};
	char copy[40], number[16];
	uint32_t i, values[3] = {0};

	if (e->place) {
		values[0] = e->place->rank;
		values[1] = e->place->node;
		values[2] = e->place->local_rank;
	}
	for (i = 0; i < 3; i++) {
		if (strlen(names[i]) != length || strncmp(names[i], name, length))
			continue;
		if (!e->place)
			return expand_append(e, name - 1, length + 2);
		snprintf(number, sizeof(number), "%u", values[i]);
		return expand_append(e, number, strlen(number));
	}
	snprintf(copy, sizeof(copy), "%.*s", (int)min_u64(length, 32), name);
	return err_set(
		e->err, -EINVAL,
		"unknown placeholder {%s}; known are {rank}, {node}, {local_rank} and ${VARIABLE}",
		copy);
}

int uri_expand(const char *uri, const struct rank_place *place, char out[URI_BYTES],
	       struct err *err)
{
	struct expansion e = {.out = out, .place = place, .err = err};
	char quoted[JSON_QUOTE_BYTES];
	const char *p = uri, *name, *end;
	bool variable;
	int rc = 0;

	out[0] = '\0';
	while (*p && !rc) {
		variable = p[0] == '$' && p[1] == '{';
		if (!variable && *p != '{') {
			rc = expand_append(&e, p++, 1);
			continue;
		}
		name = p + (variable ? 2 : 1);
		end = strchr(name, '}');
		if (!end)
			return err_set(err, -EINVAL, "%s has no closing brace",
				       json_quote(quoted, p));
		if (variable)
			rc = expand_variable(&e, name, (size_t)(end - name));
		else
			rc = expand_placeholder(&e, name, (size_t)(end - name));
		p = end + 1;
	}
	return rc == 0 ? uri_refuse_secret(out, err) : rc;
}

bool uri_per_rank(const char *uri)
{
	for (const char *p = uri; (p = strchr(p, '{')) != NULL; p++) {
		bool variable = p > uri && p[-1] == '$';

		if (!variable &&
		    (strncmp(p, "{rank}", 6) == 0 || strncmp(p, "{local_rank}", 12) == 0))
			return true;
	}
	return false;
}
