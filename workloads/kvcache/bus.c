/* Bus of an emulated accelerator: what reads from its memory or writes to it takes bytes / bandwidth, one operation after the other.
 * No thread works meanwhile, and no byte is moved. What a thread moves out of it to another tier takes the bus, too, but is not
 * itself slowed by it. */
#include "workloads/kvcache/run.h"

typedef unsigned __int128 bus_wide; /* C11 has no name for this type */

static const uint64_t bus_second_ns = 1000000000;

/* The tier whose bus an operation takes; KV_NONE: none. */
static uint32_t bus_tier(const struct kv_run *r, const struct kv_operation *op)
{
	bool reads = op->kind == KV_OPERATION_READ || op->kind == KV_OPERATION_MOVE;
	bool writes = op->kind == KV_OPERATION_WRITE || op->kind == KV_OPERATION_MOVE;

	if (reads && r->setup.tiers[op->from].bandwidth)
		return op->from;
	if (writes && r->setup.tiers[op->to].bandwidth)
		return op->to;
	return KV_NONE;
}

/* Takes the bus behind all that have it. Returns when the operation ends. */
static uint64_t bus_use(struct kv_run *r, uint32_t tier, uint64_t bytes)
{
	uint64_t bandwidth = r->setup.tiers[tier].bandwidth;
	struct kv_bus *l = &r->buses[tier];
	uint64_t ns = (uint64_t)((bus_wide)bytes * bus_second_ns / bandwidth);

	l->free_ns = (l->free_ns > r->now_ns ? l->free_ns : r->now_ns) + ns;
	return l->free_ns;
}

void kv_bus_pass(struct kv_run *r, const struct kv_operation *op)
{
	uint32_t tier = bus_tier(r, op);

	if (tier != KV_NONE)
		bus_use(r, tier, op->bytes);
}

bool kv_bus_take(struct kv_run *r, uint32_t number)
{
	struct kv_operation *op = kv_operation_at(&r->operations, number);
	uint32_t tier = bus_tier(r, op);
	struct kv_fifo *list;

	if (r->over || tier == KV_NONE)
		return false;
	op->begins_ns = r->now_ns;
	op->ends_ns = bus_use(r, tier, op->bytes);
	op->next = KV_NONE;
	list = &r->buses[tier].taken;
	if (list->last == KV_NONE)
		list->first = number;
	else
		kv_operation_at(&r->operations, list->last)->next = number;
	list->last = number;
	return true;
}

uint32_t kv_bus_ended(struct kv_run *r, struct kv_times *times)
{
	for (uint32_t k = 0; k < r->setup.tier_count; k++) {
		struct kv_fifo *list = &r->buses[k].taken;
		uint32_t number = list->first;
		const struct kv_operation *op;

		if (number == KV_NONE)
			continue;
		op = kv_operation_at(&r->operations, number);
		if (!r->over && op->ends_ns > r->now_ns)
			continue;
		*times = (struct kv_times){.begin_ns = op->begins_ns, .end_ns = op->ends_ns};
		list->first = op->next;
		if (list->first == KV_NONE)
			list->last = KV_NONE;
		return number;
	}
	return KV_NONE;
}

uint64_t kv_bus_due(const struct kv_run *r)
{
	uint64_t due_ns = UINT64_MAX;

	for (uint32_t k = 0; k < r->setup.tier_count; k++) {
		uint32_t number = r->buses[k].taken.first;
		uint64_t ns = number == KV_NONE ? UINT64_MAX
						: kv_operation_at(&r->operations, number)->ends_ns;

		due_ns = ns < due_ns ? ns : due_ns;
	}
	return due_ns;
}
