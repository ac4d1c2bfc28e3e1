/* SPDX-License-Identifier: Apache-2.0 */
/* Results judged by the rules of an edition, for haul check and haul accept. */
#ifndef HAUL_CLI_CHECK_H
#define HAUL_CLI_CHECK_H

#include <stdbool.h>

/* Judges the files, which are one series, by a file of rules, and prints it. The exit status. */
int check_results(const char *rules, const char *const *files, unsigned count, bool json);

#endif
