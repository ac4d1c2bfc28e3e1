/* SPDX-License-Identifier: Apache-2.0 */
/* Shelter: keeps a rank alive for its last publication when MPICH's launcher (hydra) kills it.
 *
 *	mpiexec ── proxy of the node ── the process that the proxy started ── the rank
 *	                                waits, and passes signals on          works
 *
 * When mpiexec is lost (HUP, a closed terminal, KILL), and when a rank is, the proxy sends KILL to the process groups of what
 * it has started, at once. The rank is in a group of its own, so that this ends only its parent. The kernel then sends the
 * rank a TERM, after which it publishes what it has measured, and ends within the grace of any other stop. A rank that is
 * stopped (SIGSTOP) is woken by the kernel, because its group has lost its last parent within the session.
 *
 * Other launchers give notice, or kill by means that nothing escapes; there the rank is the process that was started. */
#ifndef HAUL_RANKS_RUN_SHELTER_H
#define HAUL_RANKS_RUN_SHELTER_H

#include <stdbool.h>
#include <sys/types.h>

/* Before there are threads, and before MPI. Returns in the process that goes on as the rank: its parent, or 0 where there is
 * no shelter. */
pid_t shelter_enter(void);
/* Whether the launcher has killed that parent. */
bool shelter_lost(pid_t parent);

#endif
