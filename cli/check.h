/* SPDX-License-Identifier: Apache-2.0 */
/* Results judged by the rules of an edition, for haul check and haul accept. */
#ifndef HAUL_CLI_CHECK_H
#define HAUL_CLI_CHECK_H

#include <stdbool.h>

#include "core/err.h"

/* Judges the files, which are one series, by a file of rules, and prints it. The exit status. */
int check_results(const char *rules, const char *const *files, unsigned count, bool json);

/* The folder of an edition's layout into which the files belong: "closed", "open", or "whatif" for
 * what is invalid. */
int check_division(const char **division, const char *edition, const char *const *files,
		   unsigned count, struct err *err);

#endif
