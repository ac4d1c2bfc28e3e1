/* Fixture for phases "io" on threads of this process, with the totals expected over all ranks. One
 * run at a time: the text of its job is kept, so that a failure can show it. */
#ifndef HAUL_TESTS_WORKLOADS_IO_IO_FIXTURE_H
#define HAUL_TESTS_WORKLOADS_IO_IO_FIXTURE_H

#include "tests/workloads/train/train_fixture.h"

/* Phases after each other on a store, which is its URI in quotes and further options behind it; common
 * stands in every phase. between: as in the fixture, may be NULL. The caller calls fixture_free. */
struct fixture *io_run(const char *store, const char *common, const char *const *phases,
		       unsigned count, uint32_t ranks,
		       void (*between)(struct fixture *, struct group *, struct group *));

void io_expect_ok(const struct fixture *f);
void io_expect_refused(const struct fixture *f, int rc, const char *says);

#endif
