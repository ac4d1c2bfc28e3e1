/* SPDX-License-Identifier: Apache-2.0 */
/* The one sentence for a request that failed, wherever it is told:
 *
 *	s3://b/train/img_0_of_8.npz: the store asks to slow down (SlowDown) (503, 3 attempts)
 *
 * The store and the key, the reason in the store's own words where it has some, the status of the protocol where there is
 * one, and the attempts, unless the store has no protocol and the first one failed. Any thread. */
#ifndef HAUL_BACKENDS_QUEUE_FAILURE_H
#define HAUL_BACKENDS_QUEUE_FAILURE_H

#include "backends/backend.h"

/* Sets err (NULL: does nothing) to the sentence and returns rc. text is the reason; NULL: the
 * request's own, or what rc means where something else than the request failed. */
int failure_set(struct err *err, int rc, const struct store *store, const struct request *req,
		const char *text);

/* The same of a failure that was noted before. attempts 0: no request was sent. */
int failure_compose(struct err *err, int rc, const struct store *store, const char *key,
		    const char *text, unsigned protocol_status, unsigned attempts);

/* For clang's analyzer, as in core/err.h: the value is rc. */
#ifdef __clang_analyzer__
#define failure_set(e, rc, ...)     ((void)failure_set(e, rc, __VA_ARGS__), (rc))
#define failure_compose(e, rc, ...) ((void)failure_compose(e, rc, __VA_ARGS__), (rc))
#endif

#endif
