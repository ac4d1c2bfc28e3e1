/* Bus of an emulated accelerator: what reads from its memory or writes to it takes bytes / bandwidth, one operation after the other.
 * No thread works meanwhile, and no byte is moved. What a thread moves out of it to another tier takes the bus, too, but is not
 * itself slowed by it.
 *
 * Between two accelerators, an operation takes both buses, each as long as that one needs, and ends with the later one. It is in
 * the list of that bus, so each list stays in the order in which its operations end. One thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_BUS_H
#define HAUL_WORKLOADS_KVCACHE_BUS_H

#include "workloads/kvcache/kvcache.h"
#include "workloads/kvcache/tiers/operations.h"

/* Of a tier. */
struct kv_bus {
	uint64_t free_ns;  /* when all that have taken it have ended */
	struct list taken; /* operations that end on it, in that order */
};

struct kv_buses {
	const struct kv_setup *setup; /* which tiers have a bus, and how fast it is */
	struct kv_bus bus[KV_TIERS_MAX];
};

/* An operation that an I/O thread does takes a bus on its way. */
void kv_bus_pass(struct kv_buses *b, const struct kv_operation *op, uint64_t now_ns);
/* An operation that has been taken, and needs no thread: whether it takes time on a bus, which is set in it. It is under way until
 * kv_bus_ended returns it, when its time is over. NULL: none has ended by then. */
bool kv_bus_take(struct kv_buses *b, struct kv_operation *op, uint64_t now_ns);
struct kv_operation *kv_bus_ended(struct kv_buses *b, uint64_t now_ns);
/* When the next one ends; UINT64_MAX: there is none. */
uint64_t kv_bus_due(const struct kv_buses *b);

#endif
