/* SPDX-License-Identifier: Apache-2.0 */
/* Words of other tools' command lines, and what to write here. DLIO's, MLPerf's, IOR's, mdtest's,
 * fio's, elbencho's and warp's users type them by habit. */
#ifndef HAUL_CLI_FOREIGN_H
#define HAUL_CLI_FOREIGN_H

/* What to write in place of an option, given with its dashes and perhaps "=value": a clause such as
 * "ranks are … ". NULL: it is of no tool that is known here. */
const char *foreign_option(const char *given);

/* The option that is the same as those with that clause, of verbs that have it; NULL: there is none. */
const char *foreign_own(const char *sentence);

/* The same for a word without dashes, such as Hydra's "++workload.train.epochs=1" or
 * "train.batch=4". takes_sets: the verb has --set. */
const char *foreign_argument(const char *given, int takes_sets);

#endif
