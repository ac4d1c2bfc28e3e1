/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/auth/credentials.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/numbers.h"
#include "core/time_ns.h"

enum { CREDENTIALS_RENEW_BEFORE_S = 300, CREDENTIALS_AGAIN_S = 5 };

int credentials_init(struct credential_source *s, const struct transport_ops *transport,
		     const struct transport_options *options)
{
	*s = (struct credential_source){
		.transport = transport, .transport_options = *options, .origin = "none"};
	s->transport_options.depth = 1;
	s->transport_options.connections = 1;
	/* The interfaces chosen for storage may not reach the credential service: it is asked
	 * without them. */
	s->transport_options.local = NULL;
	return -pthread_mutex_init(&s->lock, NULL);
}

void credentials_free(struct credential_source *s)
{
	if (s->document)
		OPENSSL_cleanse(s->document, strlen(s->document));
	free(s->document);
	pthread_mutex_destroy(&s->lock);
	OPENSSL_cleanse(&s->now, sizeof(s->now));
}

static void credentials_copy(struct credential_source *s, struct credential_copy *copy)
{
	copy->c = s->now;
	copy->generation = atomic_load_explicit(&s->generation, memory_order_relaxed);
}

int64_t credentials_seconds(void)
{
	return (int64_t)(clock_utc_ns() / NS_PER_S);
}

/* Five minutes before they expire; where they do not last that long, in the last quarter of their
 * time. */
static int64_t credentials_renew_at(const struct credentials *c)
{
	int64_t lasts = c->expires - credentials_seconds();

	if (!c->expires)
		return 0;
	return c->expires - (min_u64(lasts / 4, CREDENTIALS_RENEW_BEFORE_S));
}

void credentials_begin(struct credential_source *s)
{
	atomic_store(&s->renew, credentials_renew_at(&s->now));
	atomic_store(&s->generation, 1);
}

/* With the lock held. If it fails, the old ones stay, and it is tried again a little later. */
static bool credentials_fetch(struct credential_source *s)
{
	struct credentials fresh = {0};

	if (s->fetch(s, &fresh, NULL) < 0) {
		atomic_store(&s->renew, credentials_seconds() + CREDENTIALS_AGAIN_S);
		return false;
	}
	s->now = fresh;
	OPENSSL_cleanse(&fresh, sizeof(fresh));
	atomic_store(&s->renew, credentials_renew_at(&s->now));
	atomic_fetch_add_explicit(&s->generation, 1, memory_order_release);
	return true;
}

void credentials_renew(struct credential_source *s, struct credential_copy *copy)
{
	int64_t renew = atomic_load_explicit(&s->renew, memory_order_relaxed);

	if (s->fetch && renew && credentials_seconds() >= renew &&
	    pthread_mutex_trylock(&s->lock) == 0) {
		if (atomic_load_explicit(&s->renew, memory_order_relaxed) == renew)
			credentials_fetch(s);
		pthread_mutex_unlock(&s->lock);
	}
	if (copy->generation == atomic_load_explicit(&s->generation, memory_order_acquire))
		return;
	pthread_mutex_lock(&s->lock);
	credentials_copy(s, copy);
	pthread_mutex_unlock(&s->lock);
}

bool credentials_expired(struct credential_source *s, struct credential_copy *copy,
			 const struct credential_use *used)
{
	bool newer;

	if (!s->fetch)
		return false;
	pthread_mutex_lock(&s->lock);
	newer = used->generation != atomic_load_explicit(&s->generation, memory_order_relaxed) ||
		credentials_fetch(s);
	credentials_copy(s, copy);
	pthread_mutex_unlock(&s->lock);
	return newer;
}

bool credentials_past(const struct credential_use *used)
{
	return used->expires && credentials_seconds() >= used->expires;
}

int credentials_parse_token(const char *json, size_t n, int64_t asked, struct credentials *out)
{
	const char *token, *text;
	double seconds;
	cJSON *root, *lasts;
	int rc = json_parse(&root, json, n, 8, 64, NULL);

	*out = (struct credentials){0};
	if (rc < 0)
		return rc;
	token = cJSON_GetStringValue(cJSON_GetObjectItem(root, "access_token"));
	lasts = cJSON_GetObjectItem(root, "expires_in");
	text = cJSON_GetStringValue(lasts); /* Azure's metadata service sends it as a text */
	seconds = text ? strtod(text, NULL) : cJSON_IsNumber(lasts) ? lasts->valuedouble : 0;
	if (!token || !token[0] || strlen(token) >= sizeof(out->token) || seconds < 0 ||
	    seconds > 1e9) {
		rc = -EINVAL;
	} else {
		strcpy(out->token, token);
		if (seconds > 0)
			out->expires = asked + (int64_t)seconds;
	}
	cJSON_Delete(root);
	return rc;
}
