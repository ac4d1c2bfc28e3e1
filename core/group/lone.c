/* SPDX-License-Identifier: Apache-2.0 */
/* Group of which one rank is left: see lone.h. */
#include "core/group/lone.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct lone_group *lone_of(struct group *g)
{
	return (struct lone_group *)g;
}

static int lone_reduce(struct group *g, enum merge merge, uint64_t *words, size_t n)
{
	(void)g;
	(void)merge;
	(void)words;
	(void)n;
	return 0;
}

static int lone_broadcast(struct group *g, void *data, size_t bytes)
{
	(void)g;
	(void)data;
	(void)bytes;
	return 0;
}

static int lone_gather(struct group *g, const void *record, size_t bytes, void *all)
{
	memset(all, 0, g->size * bytes);
	memcpy((char *)all + lone_of(g)->seat * bytes, record, bytes);
	return 0;
}

static int lone_scatter(struct group *g, const void *all, size_t bytes, void *record)
{
	memcpy(record, (const char *)all + lone_of(g)->seat * bytes, bytes);
	return 0;
}

static int lone_send(struct group *g, uint32_t to, const void *data, size_t bytes)
{
	(void)g;
	(void)to;
	(void)data;
	(void)bytes;
	return 0;
}

static int lone_receive(struct group *g, uint32_t from, void *data, size_t bytes)
{
	(void)g;
	(void)from;
	memset(data, 0, bytes);
	return 0;
}

static bool lone_arrived(struct group *g, uint32_t from)
{
	(void)g;
	(void)from;
	return true;
}

static int lone_post(struct group *g, uint32_t to, uint32_t channel, const void *data, size_t bytes)
{
	(void)channel;
	return lone_send(g, to, data, bytes);
}

static int lone_take(struct group *g, uint32_t channel, uint32_t *from, void *data, size_t bytes)
{
	(void)g;
	(void)channel;
	(void)from;
	(void)data;
	(void)bytes;
	return 0;
}

/* The same ranks: those that are not there join no group. */
static int lone_split(struct group *g, uint32_t color, struct group **out, struct err *err)
{
	(void)color;
	(void)err;
	*out = g;
	return 0;
}

static int lone_shared(struct group *g, size_t bytes, void **block, struct err *err)
{
	(void)g;
	(void)bytes;
	(void)block;
	return err_set(err, -ENOTSUP, "nobody shares memory with a rank that is left alone");
}

static void lone_status_post(struct group *g, const struct status *mine)
{
	(void)g;
	(void)mine;
}

static bool lone_status_test(struct group *g, struct status *merged)
{
	(void)g;
	memset(merged, 0, sizeof(*merged));
	return true;
}

static void lone_stop_tell(struct group *g, uint64_t reason)
{
	(void)g;
	(void)reason;
}

static uint64_t lone_stop_heard(struct group *g)
{
	(void)g;
	return 0;
}

static void lone_free(struct group *g)
{
	(void)g;
}

static const struct group_ops lone_group_ops = {
	.allreduce = lone_reduce,
	.reduce = lone_reduce,
	.broadcast = lone_broadcast,
	.gather = lone_gather,
	.scatter = lone_scatter,
	.send = lone_send,
	.receive = lone_receive,
	.arrived = lone_arrived,
	.post = lone_post,
	.take = lone_take,
	.split = lone_split,
	.shared = lone_shared,
	.status_post = lone_status_post,
	.status_test = lone_status_test,
	.stop_tell = lone_stop_tell,
	.stop_heard = lone_stop_heard,
	.free = lone_free,
};

struct group *lone_group_init(struct lone_group *g, uint32_t seat, uint32_t size)
{
	*g = (struct lone_group){.base = {.ops = &lone_group_ops, .size = size}, .seat = seat};
	return &g->base;
}
