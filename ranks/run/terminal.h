/* Whether a person sees what this process writes to standard error, even through a launcher. */
#ifndef HAUL_RANKS_RUN_TERMINAL_H
#define HAUL_RANKS_RUN_TERMINAL_H

#include <stdbool.h>

/* Whether standard error is a terminal, or a pipe to a launcher (mpiexec and its helpers, srun)
 * above this process on this machine whose own standard error is a terminal. */
bool terminal_watched(int fd);

#endif
