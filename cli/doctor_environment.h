/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the verb "doctor" about variables of the environment. */
#ifndef HAUL_CLI_DOCTOR_ENVIRONMENT_H
#define HAUL_CLI_DOCTOR_ENVIRONMENT_H

/* Prints a line for each variable that is set and known to spoil a run, with the reason; one line if there is none. */
void doctor_environment(void);

#endif
