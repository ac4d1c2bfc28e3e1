/* Page cache sampling: see residency.h. */
#include "workloads/common/residency.h"

#include "core/content/random.h"

static const uint64_t residency_stream = 0x72657369; /* "resi" */

/* Draws half to one and a half times the average distance, so that no file size falls into step
 * with it. */
static void residency_draw_skip(struct residency *r)
{
	r->skip_bytes =
		r->every_bytes / 2 + random_at(residency_stream, r->looks, 0) % r->every_bytes;
}

void residency_init(struct residency *r, uint64_t every_bytes)
{
	*r = (struct residency){.every_bytes = every_bytes};
}

static void residency_look_once(struct residency *r, const struct store *store,
				const struct object *o, uint64_t offset, uint64_t length)
{
	int64_t resident;

	if (length > RESIDENCY_LOOK_BYTES)
		length = RESIDENCY_LOOK_BYTES;
	resident = store_resident(store, o, offset, length);
	if (resident >= 0) {
		r->sampled_bytes += length;
		r->resident_bytes += (uint64_t)resident;
	}
	r->looks++;
	residency_draw_skip(r);
}

void residency_look(struct residency *r, const struct store *store, const struct object *o,
		    uint64_t offset, uint64_t length)
{
	uint64_t at = 0;

	if (!r->every_bytes || store->cache == CACHE_UNKNOWN)
		return;
	while (length - at > r->skip_bytes) {
		at += r->skip_bytes;
		residency_look_once(r, store, o, offset + at, length - at);
	}
	r->skip_bytes -= length - at;
}
