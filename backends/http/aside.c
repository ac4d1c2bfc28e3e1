/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/aside.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "backends/http/channel.h"
#include "core/clock_wait.h"
#include "core/time_ns.h"

enum { ASIDE_TRIES = 3 };
#define ASIDE_PATIENCE_NS (10 * NS_PER_S)
#define ASIDE_SLICE_NS    (100 * NS_PER_MS)

static int aside_channel_open(struct aside *a, struct err *err)
{
	a->channel = (struct channel){.store = a->store, .depth = 1};
	a->channel.counts = calloc(a->store->endpoints->count, sizeof(*a->channel.counts));
	return a->channel.counts ? http_channel_open(&a->channel, err)
				 : err_set(err, -ENOMEM, "no memory for a channel");
}

int aside_open(struct aside *a, const struct store *store, struct err *err)
{
	/* The store's own members change for none of this; its channels need it writable. */
	a->store = (struct store *)(uintptr_t)store;
	return aside_channel_open(a, err);
}

void aside_close(struct aside *a)
{
	http_channel_close(&a->channel);
	free(a->channel.counts);
	a->channel.counts = NULL;
}

struct http_channel *aside_channel(const struct aside *a)
{
	return a->channel.state;
}

/* An attempt. A request that is not answered in time ends with its channel. */
static int aside_attempt(struct aside *a, struct request *req)
{
	struct clock *clock = a->store->clock;
	uint64_t until_ns = clock_now(clock) + ASIDE_PATIENCE_NS, now_ns;
	struct request *done;
	struct err ignored;

	http_submit(&a->channel, &req, 1);
	while (!http_reap(&a->channel, &done, 1, 1, clock_now(clock) + ASIDE_SLICE_NS)) {
		now_ns = clock_now(clock);
		if (now_ns < until_ns && !atomic_load(&a->over))
			continue;
		aside_close(a);
		return aside_channel_open(a, &ignored) < 0 ? -ENOMEM : -ETIMEDOUT;
	}
	return req->answer.status;
}

int aside_ask(struct aside *a, struct request *req)
{
	const struct endpoints *e = a->store->endpoints;
	int rc = -ETIMEDOUT;

	for (uint32_t i = 0; i < ASIDE_TRIES; i++) {
		if (!a->channel.state)
			return -ENOMEM;
		if (i)
			clock_nap(ASIDE_SLICE_NS);
		req->answer = (struct answer){
			.attempts = i + 1, .endpoint = (a->store->place.endpoint + i) % e->count};
		rc = aside_attempt(a, req);
		if (rc >= 0 || !req->answer.transient)
			break;
	}
	return rc;
}
