/* SPDX-License-Identifier: Apache-2.0 */
/* Command line: verbs and their options. This is the only layer that prints for people and exits.
 *
 * A verb declares its options once, in a table as a job does. The parser, --help and the shell completion come
 * from it. The result of a verb goes to standard output, everything else to standard error as
 * "haul: …". Everything here belongs to the main thread. */
#ifndef HAUL_CLI_CLI_H
#define HAUL_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/option/option.h"

/* Rows of verbs that take a job, whose struct of options is `type`. */
#define CLI_SET(type) \
	OPT_WORDS("set", type, sets, .value = "PATH=VALUE", \
		  .help = "changes the job: train.batch=4; may be repeated")
#define CLI_ONLY(type) \
	OPT_WORDS("only", type, only, .value = "PHASE", \
		  .help = "only the phases of this name or kind; may be repeated")
#define CLI_SKIP(type) \
	OPT_WORDS("skip", type, skip, .value = "PHASE", \
		  .help = "all except the phases of this name or kind; may be repeated")
#define CLI_NODE_COUNTS(type) \
	OPT_WORD( \
		"nodes", type, nodes, .value = "N,...", \
		.help = "on N nodes; default 1. Several numbers, such as 1,2,4,...,512: a table with a row for each")
#define CLI_RANKS_PER_NODE(type) \
	OPT_U64("ranks-per-node", type, ranks_per_node, .value = "P", .min = 1, .max = 1 << 16, \
		.help = "P ranks per node; default: what the job says, or 1")

struct verb;

/* One invocation of the program. */
struct call {
	const struct verb *verb;
	const void *options;          /* the verb's struct of options */
	const char *const *arguments; /* the words that are not options */
	unsigned argument_count;
	int argc;
	char **argv;
	uint64_t start_ns;
};

struct verb {
	const char *name;
	const char *arguments; /* "JOB", "FILE…", "" */
	const char *
		words_after; /* all that follows this first argument is arguments; NULL: nothing is */
	const char *help;    /* one line */
	const char *example;
	void (*more)(void);           /* prints what else --help says; NULL: nothing */
	const struct option *options; /* NULL: it has none */
	size_t options_bytes;
	unsigned arguments_min, arguments_max;
	bool takes_job; /* the completion offers the names of the catalogue */
	bool hidden;
	/* Refuses options that contradict each other. The exit status; NULL: there are none. */
	int (*check)(const void *options);
	int (*run)(const struct call *call); /* the exit status */
};

enum { VERBS_MAX = 64 };
const struct verb *const *verb_table(void); /* NULL-terminated */
const struct verb *verb_find(const char *name);

extern const struct verb accept_verb, assess_verb, catalog_verb, check_verb, clean_verb,
	compare_verb, complete_verb, doctor_verb, export_verb, generate_verb, help_verb, ls_verb,
	import_verb, parse_verb, plan_verb, replay_verb, report_verb, run_verb, schema_verb,
	show_verb, simulate_verb, topo_verb, validate_verb, version_verb;

/* Reads the verb's options and arguments from argv[2 …] into options (verb->options_bytes, zeroed)
 * and arguments (argc long). *help tells that --help was given. Returns -EINVAL with a sentence. */
int verb_parse(const struct verb *verb, int argc, char **argv, void *options,
	       const char **arguments, unsigned *argument_count, bool *help, struct err *err);

/* Prints the verb's help on standard output. */
void verb_help(const struct verb *verb);

/* Prints "haul: <sentence>" on standard error. Where a launcher has started several ranks, only
 * rank 0 prints, as far as the environment tells the rank; so a refusal is one line. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether a launcher has started this process, as far as its environment tells. */
bool cli_launched(void);

/* Whether this process is the one to speak before MPI tells ranks apart. */
bool cli_speaks(void);
/* How many ranks the launcher has told that it started; 1: it told nothing. A hint as well. */
uint32_t cli_ranks(void);

/* The option whose name is the first `length` characters of name, or NULL. */
const struct option *verb_option_find(const struct verb *verb, const char *name, size_t length);

/* A row of help: left, then text from the given column on, wrapped at 80 columns. The text starts
 * on the next line where left is too long. */
void cli_row(const char *left, unsigned column, const char *text);

/* Prints text, padded with blanks to the given number of columns (a UTF-8 character counts as
 * one). */
void cli_pad(const char *text, unsigned columns);
void cli_pad_left(const char *text, unsigned columns);

/* Ends a verb that reads or writes files which the user has named: prints the sentence if rc is
 * negative. Returns the exit status, which tells whether what the user named was wrong. */
int cli_ended(int rc, const struct err *err);

/* Refuses results that were simulated: -EINVAL with a sentence that ends with `instead`. alike: unless all of
 * them were. */
int cli_refuse_simulated(const char *const *paths, unsigned count, bool alike, const char *instead,
			 struct err *err);

/* Prints text and frees it. Where text is NULL, prints that there is no memory. Returns the exit
 * status. */
int cli_print(char *text);

#endif
