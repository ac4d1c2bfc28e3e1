#include "backends/http/auth/credentials.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"

enum { RENEW_BEFORE_S = 300, AGAIN_S = 5 };

int credentials_init(struct credential_source *s, const struct transport_options *transport)
{
	*s = (struct credential_source){.transport = *transport, .origin = "none"};
	s->transport.depth = 1;
	s->transport.connections = 1;
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

static void copy_now(struct credential_source *s, struct credential_copy *copy)
{
	copy->c = s->now;
	copy->generation = atomic_load_explicit(&s->generation, memory_order_relaxed);
}

static int64_t seconds_now(void)
{
	return (int64_t)(clock_utc_ns() / 1000000000);
}

/* Five minutes before they expire, or, where they last shorter, at the last quarter. */
static int64_t renew_at(const struct credentials *c)
{
	int64_t lasts = c->expires - seconds_now();

	if (!c->expires)
		return 0;
	return c->expires - (lasts / 4 < RENEW_BEFORE_S ? lasts / 4 : RENEW_BEFORE_S);
}

void credentials_begin(struct credential_source *s)
{
	atomic_store(&s->renew, renew_at(&s->now));
	atomic_store(&s->generation, 1);
}

/* With the lock held. On failure what was there stays, and is tried again a little later. */
static bool fetch(struct credential_source *s)
{
	struct credentials fresh = {0};

	if (s->fetch(s, &fresh, NULL) < 0) {
		atomic_store(&s->renew, seconds_now() + AGAIN_S);
		return false;
	}
	s->now = fresh;
	OPENSSL_cleanse(&fresh, sizeof(fresh));
	atomic_store(&s->renew, renew_at(&s->now));
	atomic_fetch_add_explicit(&s->generation, 1, memory_order_release);
	return true;
}

void credentials_renew(struct credential_source *s, struct credential_copy *copy)
{
	int64_t renew = atomic_load_explicit(&s->renew, memory_order_relaxed);

	if (s->fetch && renew && seconds_now() >= renew && pthread_mutex_trylock(&s->lock) == 0) {
		if (atomic_load_explicit(&s->renew, memory_order_relaxed) == renew)
			fetch(s);
		pthread_mutex_unlock(&s->lock);
	}
	if (copy->generation == atomic_load_explicit(&s->generation, memory_order_acquire))
		return;
	pthread_mutex_lock(&s->lock);
	copy_now(s, copy);
	pthread_mutex_unlock(&s->lock);
}

bool credentials_expired(struct credential_source *s, struct credential_copy *copy)
{
	bool newer;

	if (!s->fetch)
		return false;
	pthread_mutex_lock(&s->lock);
	newer = copy->generation != atomic_load_explicit(&s->generation, memory_order_relaxed) ||
		fetch(s);
	copy_now(s, copy);
	pthread_mutex_unlock(&s->lock);
	return newer;
}

int credentials_parse_token(const char *json, size_t n, struct credentials *out)
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
	text = cJSON_GetStringValue(lasts); /* Azure's metadata service quotes it */
	seconds = text ? strtod(text, NULL) : cJSON_IsNumber(lasts) ? lasts->valuedouble : 0;
	if (!token || !token[0] || strlen(token) >= sizeof(out->token) || seconds < 0 ||
	    seconds > 1e9) {
		rc = -EINVAL;
	} else {
		strcpy(out->token, token);
		if (seconds > 0)
			out->expires = (int64_t)(clock_utc_ns() / 1000000000) + (int64_t)seconds;
	}
	cJSON_Delete(root);
	return rc;
}
