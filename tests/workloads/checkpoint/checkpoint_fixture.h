/* SPDX-License-Identifier: Apache-2.0 */
/* Fixture for phases "checkpoint" on threads of this process. There may be one run at a time,
 * because the text of its job is kept for the messages of failures. */
#ifndef HAUL_TESTS_WORKLOADS_CHECKPOINT_CHECKPOINT_FIXTURE_H
#define HAUL_TESTS_WORKLOADS_CHECKPOINT_CHECKPOINT_FIXTURE_H

#include "tests/workloads/train/train_fixture.h"

/* What a test runs: a store, which is given by its URI in quotes followed by further options, the
 * options of the phase, and the ranks, which fill the nodes one after the other. */
struct checkpoint_case {
	const char *store, *phase;
	uint32_t ranks, nodes;
	const struct section *own_store; /* of the test; NULL: none */
};

/* Runs the phase. The caller calls fixture_free. */
struct fixture *checkpoint_fixture(const struct checkpoint_case *c);

/* Checks that the phase succeeded on every rank. */
void checkpoint_expect_ok(const struct fixture *f);
/* Checks that on every rank the accounts add up exactly to the wall time, to the nanosecond. */
void checkpoint_expect_accounts(const struct fixture *f);

/* The measure of a row of the table of checkpoints, as the ranks' rows are merged: the largest
 * one. */
uint64_t checkpoint_row_max(const struct fixture *f, uint64_t checkpoint, unsigned measure);

#endif
