/* SPDX-License-Identifier: Apache-2.0 */
/* Invariants: see invariant.h. */
#include "core/invariant.h"

#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "core/clock_wait.h"

_Noreturn void invariant_break(const struct invariant *broken)
{
	/* sigqueue takes a pointer to what nobody changes as one that anybody may change. */
	const union sigval where = {.sival_ptr = (void *)(uintptr_t)broken};

	sigqueue(getpid(), SIGABRT, where);
	for (;;) /* until the signal thread ends the process */
		clock_nap(UINT64_C(1000000000));
}
