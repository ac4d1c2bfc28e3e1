/* Bus of an emulated accelerator: what reads from its memory or writes to it takes bytes / bandwidth, one operation after the other.
 * No thread works meanwhile, and no byte is moved. What a thread moves out of it to another tier takes the bus, too, but is not
 * itself slowed by it.
 *
 * Between two accelerators, an operation takes both buses, each as long as that one needs, and ends with the later one. It is in
 * the list of that bus, so each list stays in the order in which its operations end. */
#include "workloads/kvcache/run.h"

typedef unsigned __int128 bus_wide; /* C11 has no name for this type */

static const uint64_t bus_second_ns = 1000000000;

/* The tiers whose buses an operation takes, where it leaves and where it arrives; KV_NONE: there is none. */
struct bus_ends {
	uint32_t from, to;
};

static struct bus_ends bus_ends(const struct kv_run *r, const struct kv_operation *op)
{
	bool writes = op->kind == KV_OPERATION_WRITE || op->kind == KV_OPERATION_MOVE;
	bool reads = op->kind == KV_OPERATION_READ || op->kind == KV_OPERATION_MOVE;
	struct bus_ends ends = {KV_NONE, KV_NONE};

	/* A copy comes from the tier that has the entry. What is promoted has been read before. */
	if (op->kind == KV_OPERATION_WRITE && op->from != op->to)
		reads = !op->promotes;
	if (reads && r->setup.tiers[op->from].bandwidth)
		ends.from = op->from;
	if (writes && r->setup.tiers[op->to].bandwidth)
		ends.to = op->to;
	return ends;
}

/* Takes the bus of a tier behind all that have it. Returns until when; 0: there is no bus. */
static uint64_t bus_use(struct kv_run *r, uint32_t tier, uint64_t bytes)
{
	struct kv_bus *l;
	uint64_t ns;

	if (tier == KV_NONE)
		return 0;
	l = &r->buses[tier];
	ns = (uint64_t)((bus_wide)bytes * bus_second_ns / r->setup.tiers[tier].bandwidth);
	l->free_ns = (l->free_ns > r->now_ns ? l->free_ns : r->now_ns) + ns;
	return l->free_ns;
}

void kv_bus_pass(struct kv_run *r, const struct kv_operation *op)
{
	struct bus_ends ends = bus_ends(r, op);

	bus_use(r, ends.from, op->bytes);
	bus_use(r, ends.to, op->bytes);
}

bool kv_bus_take(struct kv_run *r, uint32_t number)
{
	struct kv_operation *op = kv_operation_at(&r->operations, number);
	struct bus_ends ends = bus_ends(r, op);
	uint64_t from_ns, to_ns;
	struct kv_fifo *list;

	if (r->over || (ends.from == KV_NONE && ends.to == KV_NONE))
		return false;
	from_ns = bus_use(r, ends.from, op->bytes);
	to_ns = bus_use(r, ends.to, op->bytes);
	op->begins_ns = r->now_ns;
	op->ends_ns = to_ns > from_ns ? to_ns : from_ns;
	op->next = KV_NONE;
	list = &r->buses[ends.from == KV_NONE || to_ns > from_ns ? ends.to : ends.from].taken;
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
