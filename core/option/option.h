/* SPDX-License-Identifier: Apache-2.0 */
/* Options: declared once, in tables beside their owner. From a table come the parser with its
 * defaults, bounds and messages, --set, the resolved job text, the JSON Schema and the reference.
 *
 *	static const struct option train_options[] = {
 *		OPT_U64("batch", struct train_options, batch, .def = 1, .min = 1, .max = 1 << 20,
 *			.help = "samples that a rank takes in each step"),
 *		OPT_END
 *	};
 *
 * Tables are const. Parsing fills a struct of the caller; lists of texts live in the caller's
 * arena. */
#ifndef HAUL_CORE_OPTION_OPTION_H
#define HAUL_CORE_OPTION_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/content/random.h"
#include "core/err.h"

struct cJSON;
struct arena;

enum option_kind {
	OPTION_U64,    /* uint64_t; in JSON a number, or a decimal string (above 2^53) */
	OPTION_BYTES,  /* uint64_t; a number of bytes or "140 MiB" */
	OPTION_TIME,   /* uint64_t ns; a number of seconds or "323 ms" */
	OPTION_RATE,   /* uint64_t bytes per second; a number or "2 GB/s"; 0: unlimited */
	OPTION_REAL,   /* double */
	OPTION_BOOL,   /* bool */
	OPTION_TEXT,   /* char[n] */
	OPTION_TEXTS,  /* struct texts; a string or a list of strings */
	OPTION_CHOICE, /* uint32_t: index into .choices */
	/* Of command lines, whose words live as long as the process; a job has none. */
	OPTION_WORD,  /* const char *; any bytes */
	OPTION_WORDS, /* struct word_list: may be given several times */
	/* struct draw in ns; a time, or {"type": "normal", "mean": "5 ms", "stdev": "1 ms"} */
	OPTION_DRAW,
	OPTION_FACTORS, /* struct factors: {"3": 0.25}, a factor for each index named */
	OPTION_TABLE, /* a nested struct with its own table; a bare value stands for its first option */
	/* An array of structs within the struct, and how many of them are given: [{…}, {…}]. The
	 * table reads each entry; a bare value stands for its first option. */
	OPTION_LIST
};

struct texts {
	uint32_t count;
	char **items; /* in the arena */
};

enum { WORD_LIST_MAX = 256 };
struct word_list {
	uint32_t count;
	const char *items[WORD_LIST_MAX];
};

enum { FACTORS_MAX = 64 };
struct factors {
	uint32_t count;
	uint32_t index[FACTORS_MAX];
	double factor[FACTORS_MAX];
};

struct option {
	const char *name; /* NULL ends a table */
	enum option_kind kind;
	uint32_t offset, size; /* offset of the member in its struct; size of an entry of a list */
	uint32_t count_offset; /* list: offset of the uint32_t that counts its entries */
	bool required;
	bool spelled; /* of a choice: other spellings are taken, as option_spelled does */
	/* u64, bytes, time, rate, bool, choice; max 0: unbounded. list: the least and greatest
	 * number of entries */
	uint64_t def, min, max;
	/* time, draw: what is longer has perhaps another unit than meant; bytes: what is smaller. A
	 * plan says so. 0: none */
	uint64_t usual;
	/* real, factors; both bounds 0: unbounded. draw: def_real ns */
	double def_real, min_real, max_real;
	/* text, texts (one item); other kinds: what the reference shows as default, such as
	 * "none" */
	const char *def_text;
	const char *const *choices; /* choice: NULL-terminated */
	const struct option *table; /* table; list: the table of an entry */
	/* table: the name of a choice in the same table. The option may be given only where the
	 * choice has this option's name. NULL: always. */
	const char *of;
	/* choice: it stands for values of other options of its struct. The function is called where
	 * the choice is given, before all that is given beside it, which therefore takes
	 * precedence. NULL: the choice stands only for itself. */
	void (*preset)(void *into);
	/* text: it names a file that stands for other options of its struct. The function is called
	 * with what the file holds and adds these options to the object, but for those that it has:
	 * see options_expand. NULL: the text stands for itself. */
	int (*expand)(struct cJSON *object, const char *text, size_t length, struct err *err);
	const char *help;
	/* Of a command line: how its help names the value, as in "FILE"; and whether it is for tests
	 * and tuning, so that help lists it behind the others. */
	const char *value;
	bool seldom;
};

/* OPTION_MEMBER gives offset and size of a member, and stops the build where the member does not
 * have the option's type. */
/* clang-format off */
#define OPTION_MEMBER(type, member, wanted) \
	.offset = (uint32_t)offsetof(type, member), \
	.size = (uint32_t)(sizeof(((type *)0)->member) + \
			   0 * sizeof(char[_Generic(((type *)0)->member, wanted : 1, default : -1)]))

#define OPT_U64(n, type, member, ...) \
	{.name = (n), .kind = OPTION_U64, OPTION_MEMBER(type, member, uint64_t), __VA_ARGS__}
#define OPT_BYTES(n, type, member, ...) \
	{.name = (n), .kind = OPTION_BYTES, OPTION_MEMBER(type, member, uint64_t), __VA_ARGS__}
#define OPT_TIME(n, type, member, ...) \
	{.name = (n), .kind = OPTION_TIME, OPTION_MEMBER(type, member, uint64_t), __VA_ARGS__}
#define OPT_RATE(n, type, member, ...) \
	{.name = (n), .kind = OPTION_RATE, OPTION_MEMBER(type, member, uint64_t), __VA_ARGS__}
#define OPT_REAL(n, type, member, ...) \
	{.name = (n), .kind = OPTION_REAL, OPTION_MEMBER(type, member, double), __VA_ARGS__}
#define OPT_BOOL(n, type, member, ...) \
	{.name = (n), .kind = OPTION_BOOL, OPTION_MEMBER(type, member, bool), __VA_ARGS__}
#define OPT_TEXT(n, type, member, ...) \
	{.name = (n), .kind = OPTION_TEXT, OPTION_MEMBER(type, member, char *), __VA_ARGS__}
#define OPT_TEXTS(n, type, member, ...) \
	{.name = (n), .kind = OPTION_TEXTS, OPTION_MEMBER(type, member, struct texts), __VA_ARGS__}
#define OPT_CHOICE(n, type, member, ...) \
	{.name = (n), .kind = OPTION_CHOICE, OPTION_MEMBER(type, member, uint32_t), __VA_ARGS__}
#define OPT_WORD(n, type, member, ...) \
	{.name = (n), .kind = OPTION_WORD, OPTION_MEMBER(type, member, const char *), __VA_ARGS__}
#define OPT_WORDS(n, type, member, ...) \
	{.name = (n), .kind = OPTION_WORDS, OPTION_MEMBER(type, member, struct word_list), __VA_ARGS__}
#define OPT_DRAW(n, type, member, ...) \
	{.name = (n), .kind = OPTION_DRAW, OPTION_MEMBER(type, member, struct draw), __VA_ARGS__}
#define OPT_FACTORS(n, type, member, ...) \
	{.name = (n), .kind = OPTION_FACTORS, OPTION_MEMBER(type, member, struct factors), __VA_ARGS__}
#define OPT_TABLE(n, type, member, ...) \
	{.name = (n), .kind = OPTION_TABLE, .offset = (uint32_t)offsetof(type, member), \
	 .size = (uint32_t)sizeof(((type *)0)->member), __VA_ARGS__}
/* member is an array as long as the list may be, counter a uint32_t. */
#define OPT_LIST(n, type, member, counter, ...) \
	{.name = (n), .kind = OPTION_LIST, .offset = (uint32_t)offsetof(type, member), \
	 .size = (uint32_t)sizeof(((type *)0)->member[0]), \
	 .count_offset = (uint32_t)offsetof(type, counter) + \
			 0 * sizeof(char[_Generic(((type *)0)->counter, uint32_t : 1, default : -1)]), \
	 .max = sizeof(((type *)0)->member) / sizeof(((type *)0)->member[0]), __VA_ARGS__}
#define OPT_END {.name = NULL}
/* clang-format on */

/* Fills the struct at into from the JSON object (NULL: all defaults). tables is a NULL-terminated
 * list: a section may share common options with others, and all write into the same struct. path is
 * the JSON path of object, for messages ("/phases/1/train"). Returns -EINVAL with "path/key:
 * sentence" when a key is unknown (the sentence names the nearest one), given twice, of the wrong
 * type or out of bounds, or a required one is missing. */
int options_parse(const struct option *const *tables, void *into, const struct cJSON *object,
		  const char *path, struct arena *arena, struct err *err);

/* The same for an object whose keys fill several structs: the tables of each part fill its own
 * struct. others (NULL-terminated, or NULL) names further keys, which the caller reads itself. */
struct option_part {
	const struct option *const *tables;
	void *into;
};
int options_parse_parts(const struct option_part *parts, unsigned count, const char *const *others,
			const struct cJSON *object, const char *path, struct arena *arena,
			struct err *err);

/* Gives an option of the struct at into, which has its defaults, the value that a word of a command
 * line says; NULL: it was given without one, which makes a bool true. where: how messages name the
 * option ("--steps"). */
int option_parse_word(const struct option *o, void *into, const char *word, const char *where,
		      struct err *err);

/* Replaces, in an object that is yet to be parsed, each option that names a file of other options
 * by what the file says, also in the tables within the tables. A path that is relative is looked
 * for in folder (NULL: there is none) and then where the process is. Returns a negative errno with
 * "path/key: file: sentence". */
int options_expand(const struct option *const *tables, struct cJSON *object, const char *path,
		   const char *folder, struct err *err);

/* The values as a new JSON object: every option in the order of the tables, defaults included,
 * sizes in bytes and times in seconds as numbers. The caller owns it (cJSON_Delete). NULL: no
 * memory. */
struct cJSON *options_to_json(const struct option *const *tables, const void *from);

/* The JSON Schema (2020-12) of such an object; and lines of reference text, one per option:
 * "  batch        whole number, 1 … 1048576, default 1   samples that a rank takes in each step". */
struct cJSON *options_schema(const struct option *const *tables);
char *options_reference(const struct option *const *tables); /* caller frees */

/* Calls note for each option of the tables whose value is beyond what is usual: with its path
 * behind `path`, as in "/phases/0/train/compute", and a clause such as "is 323 s; …". */
void options_unusual(const struct option *const *tables, const void *from, const char *path,
		     void (*note)(void *argument, const char *where, const char *said),
		     void *argument);

/* The only one of names (NULL-terminated) that is word but for the case of letters and what
 * separates its parts: "Llama3-8B" is llama3_8b. Where there is none, Meta's 3.1 models are also
 * found by MLPerf's names, as llama3. NULL: none, or several. */
const char *option_spelled(const char *word, const char *const *names);

/* The name of names (NULL-terminated) that is nearest to word by edit distance, or NULL when none
 * is near. */
const char *option_nearest(const char *word, const char *const *names);

#endif
