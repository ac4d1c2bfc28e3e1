/* SPDX-License-Identifier: Apache-2.0 */
/* Polite progress: waits inside MPI and inside the libraries that call it (HDF5, ROMIO) leave their
 * core to others, soon where a node has more ranks than cores.
 *
 * haul's own waits are polite anyway (wait.h). Blocking calls of MPICH only spin, in MPI_Init and
 * MPI_Finalize, too, so on a crowded node each costs a time slice for every other rank. MPICH with
 * ch4:ucx makes progress by calling ucp_worker_progress() of UCX. haul defines a function of this
 * name, which the dynamic linker finds first: it calls UCX's, and yields or sleeps after polls that
 * found nothing. Other libraries have settings for this (ranks/run/run.c).
 *
 * Only the thread that talks to MPI may call these functions. */
#ifndef HAUL_RANKS_MPI_POLITE_H
#define HAUL_RANKS_MPI_POLITE_H

#include <stdbool.h>

/* Whether this node has more ranks than processors, as far as the launcher's environment tells; may
 * be called before MPI_Init. Blocking calls follow it until polite_set_crowded(). */
bool polite_guess(void);

/* From now on, blocking calls of MPI leave the core to others at once (true), or spin first
 * (false). */
void polite_set_crowded(bool crowded);

/* Announces a single poll of haul's own (MPI_Test, MPI_Iprobe), so that it is never taken for a
 * blocking wait and never sleeps: whoever polls decides himself how to wait. */
void polite_own_poll(void);

/* Whether MPI makes progress through the function of this program, that is, whether it is MPICH
 * over UCX. */
bool polite_interposed(void);

#endif
