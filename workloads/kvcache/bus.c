/* Bus of an emulated accelerator: see bus.h. */
#include "workloads/kvcache/bus.h"

#include "core/numbers.h"
#include "core/time_ns.h"

typedef unsigned __int128 bus_wide; /* C11 has no name for this type */

/* The tiers whose buses an operation takes, where it leaves and where it arrives; KV_NONE: there is none. */
struct bus_ends {
	uint32_t from, to;
};

static struct bus_ends bus_ends(const struct kv_buses *b, const struct kv_operation *op)
{
	bool writes = op->kind == KV_OPERATION_WRITE || op->kind == KV_OPERATION_MOVE;
	bool reads = op->kind == KV_OPERATION_READ || op->kind == KV_OPERATION_MOVE;
	struct bus_ends ends = {KV_NONE, KV_NONE};

	/* A copy comes from the tier that has the entry. What is promoted has been read before. */
	if (op->kind == KV_OPERATION_WRITE && op->from != op->to)
		reads = !op->promotes;
	if (reads && b->setup->tiers[op->from].bandwidth)
		ends.from = op->from;
	if (writes && b->setup->tiers[op->to].bandwidth)
		ends.to = op->to;
	return ends;
}

/* Takes the bus of a tier behind all that have it. Returns until when; 0: there is no bus. */
static uint64_t bus_use(struct kv_buses *b, uint32_t tier, uint64_t bytes, uint64_t now_ns)
{
	struct kv_bus *bus;

	if (tier == KV_NONE)
		return 0;
	bus = &b->bus[tier];
	bus->free_ns = max_u64(bus->free_ns, now_ns) +
		       (uint64_t)((bus_wide)bytes * NS_PER_S / b->setup->tiers[tier].bandwidth);
	return bus->free_ns;
}

void kv_bus_pass(struct kv_buses *b, const struct kv_operation *op, uint64_t now_ns)
{
	struct bus_ends ends = bus_ends(b, op);

	bus_use(b, ends.from, op->bytes, now_ns);
	bus_use(b, ends.to, op->bytes, now_ns);
}

bool kv_bus_take(struct kv_buses *b, struct kv_operation *op, uint64_t now_ns)
{
	struct bus_ends ends = bus_ends(b, op);
	uint64_t from_ns, to_ns;

	if (ends.from == KV_NONE && ends.to == KV_NONE)
		return false;
	from_ns = bus_use(b, ends.from, op->bytes, now_ns);
	to_ns = bus_use(b, ends.to, op->bytes, now_ns);
	op->begins_ns = now_ns;
	op->ends_ns = max_u64(from_ns, to_ns);
	list_append(&b->bus[to_ns > from_ns ? ends.to : ends.from].taken, &op->link);
	return true;
}

/* The one of that bus that ends first; NULL: there is none. */
static struct kv_operation *bus_first(const struct kv_buses *b, uint32_t tier)
{
	struct list_link *link = b->bus[tier].taken.first;

	return link ? list_member(link, struct kv_operation, link) : NULL;
}

struct kv_operation *kv_bus_ended(struct kv_buses *b, uint64_t now_ns)
{
	for (uint32_t k = 0; k < b->setup->tier_count; k++) {
		struct kv_operation *op = bus_first(b, k);

		if (!op || op->ends_ns > now_ns)
			continue;
		list_remove(&b->bus[k].taken, &op->link);
		return op;
	}
	return NULL;
}

uint64_t kv_bus_due(const struct kv_buses *b)
{
	uint64_t due_ns = UINT64_MAX;

	for (uint32_t k = 0; k < b->setup->tier_count; k++) {
		const struct kv_operation *op = bus_first(b, k);

		due_ns = op ? min_u64(due_ns, op->ends_ns) : due_ns;
	}
	return due_ns;
}
