/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "backends/http/curl/transport.h"
#include "backends/http/interface.h"
#include "backends/http/kept.h"
#include "backends/http/native/transport.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/units.h"

static int http_open_endpoints(struct store *store, struct http_store *http, struct err *err)
{
	const char **names = calloc(http->servers.count, sizeof(*names));
	int rc;

	if (!names)
		return err_set(err, -ENOMEM, "no memory for %u endpoints", http->servers.count);
	for (uint32_t i = 0; i < http->servers.count; i++)
		names[i] = http->servers.list[i].name;
	rc = endpoints_open(&store->endpoints, names, http->servers.count, &http->options->balance,
			    &store->place, err);
	free(names);
	return rc;
}

static int http_prepare(struct store *store, struct http_store *http, struct err *err)
{
	char label[BUCKET_BYTES + 2] = "";
	int rc = sentences_init(&http->sentences);

	if (rc == 0)
		rc = -pthread_mutex_init(&http->kept_lock, NULL);
	if (rc == 0)
		rc = credentials_init(&http->credentials, http->transport,
				      &http->transport_options);
	if (rc < 0)
		return err_set(err, rc, "%s: no lock", store->uri);
	rc = http->dialect->open(store, http, err);
	if (rc < 0)
		return err_wrap(err, rc, "%s", store->uri);
	if (http->virtual_host)
		snprintf(label, sizeof(label), "%s.", http->bucket);
	rc = servers_resolve(&http->servers, label);
	return rc < 0 ? err_set(err, rc, "%s: no memory for addresses", store->uri) : 0;
}

/* What comes from whoever opens the store, and from the options, which may be others of the same
 * values. */
static void http_use_options(struct http_store *http, const struct store *store)
{
	const struct http_options *o = store->options;
	const char *ca = o->ca[0] ? o->ca : getenv("AWS_CA_BUNDLE");

	http->options = o;
	http->transport = o->transport == TRANSPORT_CURL ? &transport_curl : &transport_native;
	http->transport_options = (struct transport_options){
		.depth = 1,
		.connections = 1,
		.connect_ns = o->connect_ns,
		.stall = {.first_byte_ns = o->first_byte_ns,
			  .stall_ns = o->stall_ns,
			  .least_rate = o->least_rate},
		.insecure = o->insecure,
		.local = http->local.name[0] ? &http->local : NULL,
		.ca = ca && ca[0] ? ca : NULL,
		.clock = store->clock,
		.stop = store->stop,
	};
}

/* The state of the store: kept from an earlier one, or made. */
static int http_find(struct store *store, const struct dialect *dialect,
		     const struct local_end *local, struct err *err)
{
	char *key = http_kept_key(store);
	struct http_store *http = http_kept_take(store, key, local);
	int rc = 0;

	if (http) {
		free(key);
		http_use_options(http, store);
		http->credentials.transport_options = http->transport_options;
	} else {
		http = calloc(1, sizeof(*http));
		if (!http) {
			free(key);
			return err_set(err, -ENOMEM, "%s: no memory", store->uri);
		}
		http->local = *local;
		http->dialect = dialect;
		http->made_ns = clock_kernel_ns();
		http_use_options(http, store);
		rc = http_prepare(store, http, err);
		/* What did not open is not kept. */
		if (rc == 0)
			http->key = key;
		else
			free(key);
	}
	store->state = http;
	return rc;
}

int http_open(struct store *store, const struct dialect *dialect, struct err *err)
{
	const struct http_options *o = store->options;
	struct local_end local = {0};
	int rc = 0;

	/* First, since all ranks of the node take part. */
	if (interfaces_named(&o->interfaces))
		rc = interface_choose(store, &o->interfaces, &local, err);
	if (rc < 0)
		return err_wrap(err, rc, "%s", store->uri);
	store->retry = &o->retry;
	rc = http_find(store, dialect, &local, err);
	if (rc == 0)
		rc = http_open_endpoints(store, store->state, err);
	if (rc < 0)
		http_close(store);
	return rc;
}

static void http_say_left(const struct store *store, struct http_store *http)
{
	uint32_t left = atomic_exchange(&http->uploads_left, 0),
		 unknown = atomic_exchange(&http->uploads_unknown, 0);
	char said[UNITS_COUNTED_BYTES];

	if (left)
		log_say(store->log, LOG_WARNING, "left %s in %s, which `haul clean` drops",
			units_counted(said, left, "unfinished upload"), store->uri);
	if (unknown)
		log_say(store->log, LOG_WARNING,
			"may have left %s in %s, which `haul clean` drops: the store was asked to "
			"begin, end or drop as many, and no answer said what it did",
			units_counted(said, unknown, "unfinished upload"), store->uri);
}

void http_close(struct store *store)
{
	struct http_store *http = store->state;

	if (http)
		http_say_left(store, http);
	endpoints_close(store->endpoints);
	store->endpoints = NULL;
	if (http && !http_kept_give(store, http))
		http_store_free(http);
	store->state = NULL;
}

/* A core file of this process would hold the keys of the store: in the environment, in the heap, in requests that are being sent,
 * and in vector registers, which copied them last. So none is made. A limit of 0 would not reach a program that takes
 * core files (core_pattern "|…"); 1 does, since the kernel keeps that for the program itself (do_coredump). */
static void core_file_process_begin(void)
{
	const char *wanted = getenv("HAUL_CORE");
	struct rlimit limit;

	if ((wanted && strcmp(wanted, "whole") == 0) || getrlimit(RLIMIT_CORE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max < 1 ? limit.rlim_max : 1;
	setrlimit(RLIMIT_CORE, &limit);
}

void http_process_begin(void)
{
	core_file_process_begin();
	curl_process_begin();
}

static void http_describe_interfaces(const struct http_store *http, struct store_facts *facts)
{
	size_t used = strlen(facts->layout);
	char list[128];

	interfaces_print(&http->options->interfaces, list, sizeof(list));
	snprintf(facts->layout + used, sizeof(facts->layout) - used, ", from interface%s %s",
		 http->options->interfaces.count == 1 ? "" : "s", list);
}

/* The most that any of the servers costs. */
static uint32_t http_copies(const struct http_store *http)
{
	uint32_t copies = http->transport->copies;

	for (uint32_t i = 0; i < http->servers.count; i++) {
		if (http->servers.list[i].tls)
			copies = http->transport->copies_tls;
	}
	return copies;
}

void http_describe(const struct store *store, struct store_facts *facts)
{
	const struct http_store *http = store->state;

	snprintf(facts->engine, sizeof(facts->engine), "%s", http->transport->name);
	snprintf(facts->file_system, sizeof(facts->file_system), "%s", http->dialect->name);
	snprintf(facts->layout, sizeof(facts->layout), "%u endpoint%s, by %s", http->servers.count,
		 http->servers.count == 1 ? "" : "s",
		 balance_names[http->options->balance.balance]);
	if (http->local.name[0])
		http_describe_interfaces(http, facts);
	snprintf(facts->client, sizeof(facts->client), "%s", client_names[http->options->client]);
	if (http->options->insecure)
		snprintf(facts->note, sizeof(facts->note),
			 "insecure: the servers' certificates are not verified");
	facts->copies_read = http_copies(http);
	facts->copies_streamed = facts->copies_written = facts->copies_read;
}
