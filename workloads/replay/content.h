/* The bytes of one object that is read or written: made, or compared, while they pass through the buffer of their request. They
 * are a function of the seed and the key, so an object has the same bytes in every tier. One thread. */
#ifndef HAUL_WORKLOADS_REPLAY_CONTENT_H
#define HAUL_WORKLOADS_REPLAY_CONTENT_H

#include "backends/backend.h"
#include "core/content/pattern.h"
#include "workloads/common/options.h"

/* What request.user points to, where request.chunk is one of the functions below. */
struct replay_content {
	struct pattern pattern; /* of the object */
	struct clock *clock;
	enum verify verify;
	uint64_t check_at, check_end; /* bytes of the object that are compared */
	bool wrong;
	uint64_t wrong_at; /* the first byte that differs */
	uint64_t fill_ns, verify_ns;
};

/* For another object: hash is that of its key. The times go on. */
void replay_content_begin(struct replay_content *c, const struct pattern *pattern, uint64_t seed,
			  uint64_t hash);
/* For a read of [at, at + length): chooses what is compared. draw: a random number. */
void replay_content_expect(struct replay_content *c, uint64_t at, uint64_t length, uint64_t draw);

/* For request.chunk. */
int replay_content_fill(struct request *req, uint64_t offset, void *data, uint64_t length);
int replay_content_check(struct request *req, uint64_t offset, void *data, uint64_t length);

#endif
