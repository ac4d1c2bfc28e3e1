/* SPDX-License-Identifier: Apache-2.0 */
/* Fixture for phases "io" on threads of this process, with the expected totals over all ranks.
 * There may be one run at a time, because the text of its job is kept for the messages of
 * failures. */
#ifndef HAUL_TESTS_WORKLOADS_IO_IO_FIXTURE_H
#define HAUL_TESTS_WORKLOADS_IO_IO_FIXTURE_H

#include "tests/workloads/train/train_fixture.h"

/* Runs phases one after the other on a store, which is given by its URI in quotes, followed by
 * further options. The options in common are added to every phase. between is as in the fixture and
 * may be NULL. The caller calls fixture_free. */
struct fixture *io_run(const char *store, const char *common, const char *const *phases,
		       unsigned count, uint32_t ranks,
		       void (*between)(struct fixture *, struct group *, struct group *));

void io_expect_ok(const struct fixture *f);
void io_expect_refused(const struct fixture *f, int rc, const char *says);

#endif
