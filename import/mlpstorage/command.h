/* SPDX-License-Identifier: Apache-2.0 */
/* A command line of mlpstorage, read: what it does, and its flags. */
#ifndef HAUL_IMPORT_MLPSTORAGE_COMMAND_H
#define HAUL_IMPORT_MLPSTORAGE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "import/keys.h"
#include "mlperf/editions.h"

/* Flags of mlpstorage, of its versions of April 2026 and of edition 3.0, and what each of them
 * becomes. */

/* The benchmarks, as bits. */
enum {
	FLAGS_TRAINING = 1,
	FLAGS_CHECKPOINTING = 2,
	FLAGS_KVCACHE = 4,
	FLAGS_VECTORDB = 8,
	FLAGS_ALL = 15
};

/* Their names and letters ("" where there is none); with why where import_mlpstorage.c does it, too. */
extern const struct import_key flags_table[];

/* The flag of a benchmark by its name, the only one that begins with it, or its letters; NULL:
 * there is none. */
const struct import_key *flags_find(unsigned of, const char *name, size_t length);

/* The name of the benchmark's flag that is nearest to a word, or NULL. */
const char *flags_nearest(unsigned of, const char *word);

/* Whether a word is a flag: "-5" is a number. */
bool flags_is(const char *word);

/* The table, one flag a line. The caller frees it. NULL: no memory. */
char *flags_print(void);

/* Words of a command line that is given as one text. */

enum { WORDS_MAX = 2048 };

struct words {
	char *text; /* what list points into; NULL where the words are the caller's */
	const char *list[WORDS_MAX];
	unsigned count;
};

/* One word is split at its blanks, with quotes and backslashes as in a shell; several are taken as
 * they are. -EINVAL where a quote is open or there are too many. The caller calls words_free,
 * whatever is returned. */
int words_read(struct words *out, const char *const *given, unsigned count, struct err *err);
void words_free(struct words *w);

enum command_does { COMMAND_DATASIZE, COMMAND_DATAGEN, COMMAND_RUN, COMMAND_CONFIGVIEW };

enum { COMMAND_VALUE_DIGITS = 15 };

/* A flag with one value; a list is given as often as it has values. */
struct command_flag {
	const struct import_key *flag;
	const char *value; /* "" of a flag without one */
};

struct command {
	const struct editions *editions;
	unsigned benchmark; /* FLAGS_TRAINING | … */
	enum command_does does;
	const char *mode;  /* "closed", "open", "whatif", or "" */
	const char *model; /* the index of a vector database; NULL: none is given */
	bool object;
	struct command_flag flags[WORDS_MAX];
	unsigned count;
};

/* The words point into w. -EINVAL with a sentence that names the word and the nearest one. */
int command_read(struct command *out, const struct words *w, const struct editions *editions,
		 struct err *err);

/* The workload in the latest edition that has it. */
const struct edition_workload *command_workload(const struct command *c);

/* The value of a flag that is given, its last one; NULL: it is not. */
const char *command_value(const struct command *c, const char *name);

/* The same as a number; command_number also of a flag whose number may have a fraction. */
uint64_t command_whole(const struct command *c, const char *name, uint64_t otherwise);
double command_number(const struct command *c, const char *name, double otherwise);

/* Processes of the run, and its hosts; 0: it is not said. */
uint64_t command_ranks(const struct command *c);
uint64_t command_hosts(const struct command *c);

/* "training run". */
const char *command_name(const struct command *c);

#endif
