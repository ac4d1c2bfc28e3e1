/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept from phase to phase: see kept.h. */
#include "backends/http/kept.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/sentence.h"
#include "core/clock.h"

/* KEPT_CONNECTIONS: idle ones of a rank and a store at most, since phases of other stores need file
 * numbers, too. */
enum { KEPT_CONNECTIONS = 256 };
#define KEPT_NS UINT64_C(300000000000)

char *http_kept_key(const struct store *store)
{
	cJSON *options =
		store->process ? options_to_json(store->ops->section.tables, store->options) : NULL;
	char *text = options ? cJSON_PrintUnformatted(options) : NULL, *key = NULL;

	if (text && asprintf(&key, "%s %s", store->uri, text) < 0)
		key = NULL;
	cJSON_free(text);
	cJSON_Delete(options);
	return key;
}

/* Closes the transports that were kept before this round began, and all of them where round is
 * UINT32_MAX. */
static void transports_close(struct http_store *http, uint32_t round)
{
	struct transport **at = &http->transports, *t;

	while ((t = *at) != NULL) {
		if (t->round >= round) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		http->kept_connections -= t->kept_connections;
		t->ops->close(t);
	}
}

void http_store_free(struct http_store *http)
{
	transports_close(http, UINT32_MAX);
	servers_free(&http->servers);
	credentials_free(&http->credentials);
	sentences_free(&http->sentences);
	pthread_mutex_destroy(&http->kept_lock);
	free(http->key);
	free(http);
}

static void kept_free(struct store_keep *keep)
{
	http_store_free((struct http_store *)keep);
}

/* Whether two ends are the same, also by the addresses that they have now. */
static bool local_end_same(const struct local_end *a, const struct local_end *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->device, b->device) == 0 &&
	       a->is_device == b->is_device && a->v4.sin_family == b->v4.sin_family &&
	       a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr &&
	       a->v6.sin6_family == b->v6.sin6_family &&
	       a->v6.sin6_scope_id == b->v6.sin6_scope_id &&
	       memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, sizeof(a->v6.sin6_addr)) == 0;
}

struct http_store *http_kept_take(struct store *store, const char *key,
				  const struct local_end *local)
{
	struct store_keep **at = store->process ? &store->process->first : NULL;

	for (; key && at && *at; at = &(*at)->next) {
		struct http_store *http = (struct http_store *)*at;

		if ((*at)->ops != store->ops || strcmp(http->key, key) != 0)
			continue;
		*at = http->keep.next;
		if (clock_kernel_ns() - http->made_ns < KEPT_NS &&
		    local_end_same(&http->local, local)) {
			http->round++;
			return http;
		}
		http_store_free(http);
		break;
	}
	return NULL;
}

bool http_kept_give(struct store *store, struct http_store *http)
{
	if (!store->process || !http->key)
		return false;
	/* What this phase had no use for, the next one will hardly use. */
	transports_close(http, http->round);
	http->options = NULL;
	http->keep = (struct store_keep){
		.ops = store->ops, .end = kept_free, .next = store->process->first};
	store->process->first = &http->keep;
	return true;
}

int http_transport_open(struct http_store *http, struct transport **out,
			const struct transport_options *options, struct err *err)
{
	struct transport **at, *t;

	pthread_mutex_lock(&http->kept_lock);
	for (at = &http->transports; (t = *at) != NULL; at = &t->next)
		if (t->options.depth == options->depth &&
		    t->options.connections == options->connections)
			break;
	if (t) {
		*at = t->next;
		http->kept_connections -= t->kept_connections;
	}
	pthread_mutex_unlock(&http->kept_lock);
	if (!t)
		return http->transport->open(out, options, err);
	t->options = *options;
	*out = t;
	return 0;
}

void http_transport_close(struct http_store *http, struct transport *t)
{
	int connections = http->key && t->ops->rests ? t->ops->rests(t) : -1;
	bool kept;

	pthread_mutex_lock(&http->kept_lock);
	kept = connections >= 0 &&
	       (uint32_t)connections <= KEPT_CONNECTIONS - http->kept_connections;
	if (kept) {
		t->kept_connections = (uint32_t)connections;
		http->kept_connections += t->kept_connections;
		t->round = http->round;
		t->next = http->transports;
		http->transports = t;
	}
	pthread_mutex_unlock(&http->kept_lock);
	if (!kept)
		t->ops->close(t);
}
