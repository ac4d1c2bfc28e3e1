/* SPDX-License-Identifier: Apache-2.0 */
/* A command line of mlpstorage: see command.h. */
#include "import/mlpstorage/command.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/numbers.h"
#include "core/option/option.h"

#define BLANKS " \t\r\n"

/* Moves one word from *from to *to, without its quotes. Returns whether they are all closed. */
static bool words_move(const char **from, char **to)
{
	const char *at = *from;
	char quote = '\0', *end = *to;

	for (; *at && (quote || !strchr(BLANKS, *at)); at++) {
		if (*at == '\\' && quote != '\'' && at[1])
			*end++ = *++at;
		else if (quote && *at == quote)
			quote = '\0';
		else if (!quote && (*at == '"' || *at == '\''))
			quote = *at;
		else
			*end++ = *at;
	}
	*from = at + (*at != '\0');
	*end++ = '\0';
	*to = end;
	return !quote;
}

/* Where the next word begins. A backslash before the end of a line is a blank. */
static const char *words_skip(const char *at)
{
	while ((*at && strchr(BLANKS, *at)) || (at[0] == '\\' && at[1] == '\n'))
		at++;
	return at;
}

static int words_split(struct words *w, const char *given, struct err *err)
{
	const char *at = words_skip(given);
	char *to = w->text = malloc(strlen(given) + 1);

	if (!to)
		return err_set(err, -ENOMEM, "no memory for the words");
	for (; *at; at = words_skip(at)) {
		if (w->count == WORDS_MAX)
			return err_set(err, -EINVAL, "has more than %d words", WORDS_MAX);
		w->list[w->count++] = to;
		if (!words_move(&at, &to))
			return err_set(err, -EINVAL, "a quote is not closed: %.64s",
				       w->list[w->count - 1]);
	}
	return 0;
}

int words_read(struct words *out, const char *const *given, unsigned count, struct err *err)
{
	out->text = NULL;
	out->count = 0;
	if (count == 1)
		return words_split(out, given[0], err);
	if (count > WORDS_MAX)
		return err_set(err, -EINVAL, "has more than %d words", WORDS_MAX);
	for (; out->count < count; out->count++)
		out->list[out->count] = given[out->count];
	return 0;
}

void words_free(struct words *w)
{
	free(w->text);
	w->text = NULL;
}

static const char *const benchmarks[] = {"training", "checkpointing", "kvcache", "vectordb", NULL};
static const char *const does[] = {"datasize", "datagen", "run", "configview", NULL};
static const char *const modes[] = {"closed", "open", "whatif", NULL};

/* Commands that make no job, and what stands for them. */
static const struct {
	const char *word, *sentence;
} elsewhere[] = {
	{"reports",
	 "haul report FILE --json, --csv or --html OUT shows results, and haul export --mlperf DIR FILE… makes the tree"},
	{"history", "a results file keeps the job and the command of its run: haul show FILE"},
	{"runs", "each run is a results file: haul report FILE, haul show FILE"},
	{"status", "haul check FILE… says what results are by the rules, and what is missing"},
	{"submit",
	 "haul makes no submission; haul check FILE… judges, and haul export --mlperf DIR FILE… makes the tree"},
	{"lockfile", "there are no packages to pin: haul version says what this build is of"},
	{"init", "a job needs no folder of its own, and its results are one file"},
	{"config",
	 "defaults are those of the job, which haul show JOB lists; its variables are ${NAME}"},
	{"validate", "haul check FILE… judges results, and haul check JOB a job before it runs"},
	{"rules-coverage", "haul check JOB lists each rule, and which of them nothing can decide"},
	{"version", "haul version"},
	{"--version", "haul version"},
};

/* The place of a word in a list, or -1. */
static int command_index(const char *word, const char *const *list)
{
	for (int i = 0; list[i]; i++)
		if (strcmp(list[i], word) == 0)
			return i;
	return -1;
}

/* The place of a benchmark among their names. */
static unsigned command_bit(unsigned benchmark)
{
	unsigned bit = 0;

	while (benchmark >> (bit + 1))
		bit++;
	return bit;
}

const char *command_name(const struct command *c)
{
	static const char *const names[4][4] = {
		{"training datasize", "training datagen", "training run", "training configview"},
		{"checkpointing datasize", "checkpointing datagen", "checkpointing run",
		 "checkpointing configview"},
		{"kvcache datasize", "kvcache datagen", "kvcache run", "kvcache configview"},
		{"vectordb datasize", "vectordb datagen", "vectordb run", "vectordb configview"},
	};

	return names[command_bit(c->benchmark)][c->does];
}

/* Names of the benchmark's models, or of its indexes, in the latest edition. */
static void command_models(const struct command *c, unsigned benchmark,
			   const char *names[EDITION_WORKLOADS_MAX])
{
	const char *name = benchmarks[command_bit(benchmark)];
	const struct edition_workload *latest = edition_latest(c->editions, name, "");
	const cJSON *one, *indexes = NULL;
	unsigned n = 0;

	names[0] = NULL;
	if (!latest)
		return;
	edition_names(c->editions, latest->edition, name, names);
	if (benchmark == FLAGS_VECTORDB)
		indexes = edition_member(latest, "indexes");
	cJSON_ArrayForEach(one, indexes)
	{
		if (n + 1 < EDITION_WORKLOADS_MAX)
			names[n++] = one->valuestring;
		names[n] = NULL;
	}
}

/* The model as mlpstorage writes it; NULL: the benchmark has none of that name. */
static const char *command_spelled(const struct command *c, unsigned benchmark, const char *word)
{
	const char *names[EDITION_WORKLOADS_MAX];

	command_models(c, benchmark, names);
	return option_spelled(word, names);
}

const struct edition_workload *command_workload(const struct command *c)
{
	return edition_latest(c->editions, benchmarks[command_bit(c->benchmark)], c->model);
}

static int command_refuse(const char *what, const char *word, const char *near, struct err *err)
{
	char quoted[JSON_QUOTE_BYTES];

	return err_set(err, -EINVAL, "mlpstorage has no %s %s%s%s", what, json_quote(quoted, word),
		       near ? "; the nearest is " : "", near ? near : "");
}

/* A benchmark or a mode, which come first. */
static int command_begin(struct command *c, const char *word, struct err *err)
{
	int at = command_index(word, benchmarks);

	for (unsigned i = 0; i < COUNT(elsewhere); i++)
		if (strcmp(elsewhere[i].word, word) == 0)
			return err_set(err, -EINVAL, "\"%s\" becomes no job: %s", word,
				       elsewhere[i].sentence);
	if (at >= 0) {
		c->benchmark = 1u << at;
		return 0;
	}
	at = command_index(word, modes);
	if (at < 0 || c->mode[0])
		return command_refuse("benchmark", word, option_nearest(word, benchmarks), err);
	c->mode = modes[at];
	return 0;
}

/* Before its command, a training may have its model: the word is most like one of either. */
static int command_refuse_early(const struct command *c, const char *word, struct err *err)
{
	const char *both[EDITION_WORKLOADS_MAX + COUNT(does)], *near = NULL;
	unsigned n = 0;

	both[0] = NULL;
	if (c->benchmark == FLAGS_TRAINING)
		command_models(c, c->benchmark, both);
	near = option_nearest(word, both);
	if (near && !option_nearest(word, does))
		return command_refuse("model", word, near, err);
	while (both[n])
		n++;
	for (unsigned i = 0; does[i]; i++)
		both[n++] = does[i];
	both[n] = NULL;
	return command_refuse("command", word, option_nearest(word, both), err);
}

/* A word that is no flag. */
static int command_word(struct command *c, bool *has_command, const char *word, struct err *err)
{
	int at = command_index(word, does);

	if (!c->benchmark)
		return command_begin(c, word, err);
	if (strchr(word, '=')) {
		char quoted[JSON_QUOTE_BYTES];

		return err_set(err, -EINVAL, "%s stands alone; keys follow --params",
			       json_quote(quoted, word));
	}
	if (!*has_command && c->benchmark == FLAGS_VECTORDB && strcmp(word, "run-search") == 0)
		at = COMMAND_RUN;
	/* The sequence of a closed submission, as it was called before edition 3.0. */
	if (!*has_command && c->benchmark == FLAGS_KVCACHE && strcmp(word, "validate") == 0) {
		at = COMMAND_RUN;
		c->mode = modes[0];
	}
	if (at >= 0 && !*has_command) {
		*has_command = true;
		c->does = (enum command_does)at;
		return 0;
	}
	if (strcmp(word, "object") == 0 || strcmp(word, "file") == 0) {
		c->object = word[0] == 'o';
		return 0;
	}
	if (c->benchmark == FLAGS_TRAINING && !c->model &&
	    command_spelled(c, FLAGS_TRAINING, word)) {
		c->model = word;
		return 0;
	}
	if (c->benchmark == FLAGS_VECTORDB && !c->model &&
	    command_spelled(c, FLAGS_VECTORDB, word)) {
		c->model = word;
		return 0;
	}
	if (*has_command)
		return command_refuse(
			"word", word,
			option_nearest(word, (const char *const[]){"file", "object", NULL}), err);
	return command_refuse_early(c, word, err);
}

static bool command_is_value(const struct import_key *f, const char *value)
{
	char *end;
	double number;

	if (f->kind == KEY_WHOLE)
		return *value && strlen(value) <= COMMAND_VALUE_DIGITS &&
		       strspn(value, "0123456789") == strlen(value);
	if (f->kind != KEY_NUMBER)
		return *value != '\0';
	number = strtod(value, &end);
	return end != value && !*end && number >= 0 && number < 1e15;
}

const char *command_value(const struct command *c, const char *name)
{
	for (unsigned i = c->count; i > 0; i--)
		if (strcmp(c->flags[i - 1].flag->path, name) == 0)
			return c->flags[i - 1].value;
	return NULL;
}

static bool command_names_model(const struct import_key *f)
{
	return strcmp(f->path, "--model") == 0 || strcmp(f->path, "--index-type") == 0 ||
	       strcmp(f->path, "--vdb-index") == 0;
}

static int command_add(struct command *c, const struct import_key *f, const char *value,
		       struct err *err)
{
	char quoted[JSON_QUOTE_BYTES];

	if (f->kind != KEY_NONE && f->kind != KEY_MAYBE && !command_is_value(f, value))
		return err_set(err, -EINVAL, "%s: must be %s, is %s", f->path,
			       f->kind == KEY_WHOLE    ? "a whole number"
			       : f->kind == KEY_NUMBER ? "a number"
						       : "a text",
			       json_quote(quoted, value));
	if (c->count == WORDS_MAX)
		return err_set(err, -EINVAL, "has more than %d values", WORDS_MAX);
	if (command_names_model(f) && c->model && !command_value(c, f->path))
		return err_set(err, -EINVAL, "%s: the %s is given twice, as %s, too", f->path,
			       c->benchmark == FLAGS_VECTORDB ? "index" : "model",
			       json_quote(quoted, c->model));
	c->flags[c->count++] = (struct command_flag){f, value};
	if (command_names_model(f))
		c->model = value;
	else if (strcmp(f->path, "--object") == 0)
		c->object = true;
	return 0;
}

static int command_refuse_flag(const struct command *c, const char *word, unsigned of,
			       struct err *err)
{
	const char *near = flags_nearest(of, word);
	char quoted[JSON_QUOTE_BYTES];

	return err_set(err, -EINVAL, "mlpstorage%s%s has no flag %s%s%s", c->benchmark ? " " : "",
		       c->benchmark ? benchmarks[command_bit(c->benchmark)] : "",
		       json_quote(quoted, word), near ? "; the nearest is " : "", near ? near : "");
}

/* The flag at a word, and its values behind it. Moves *at to its last word. */
static int command_flag(struct command *c, const struct words *w, unsigned *at, struct err *err)
{
	unsigned of = c->benchmark ? c->benchmark : FLAGS_ALL, n = 0;
	const char *word = w->list[*at], *equals = strchr(word, '=');
	const struct import_key *f =
		flags_find(of, word, equals ? (size_t)(equals - word) : strlen(word));
	int rc = 0;

	if (!f)
		return command_refuse_flag(c, word, of, err);
	if (f->kind == KEY_MAYBE) {
		const char *value = equals ? equals + 1 : "s3";

		if (!equals && *at + 1 < w->count && strcmp(w->list[*at + 1], value) == 0)
			++*at;
		return strcmp(value, "s3") == 0
			       ? command_add(c, f, "", err)
			       : err_set(err, -EINVAL, "%s: takes s3, or no value", f->path);
	}
	if (f->kind == KEY_NONE)
		return equals ? err_set(err, -EINVAL, "%s: takes no value", f->path)
			      : command_add(c, f, "", err);
	if (equals)
		return command_add(c, f, equals + 1, err);
	while (rc == 0 && *at + 1 < w->count && (f->kind == KEY_LIST || n == 0) &&
	       !flags_is(w->list[*at + 1])) {
		rc = command_add(c, f, w->list[++*at], err);
		n++;
	}
	return rc == 0 && n == 0 ? err_set(err, -EINVAL, "%s: its value is missing", f->path) : rc;
}

/* Words before the program's name, such as "sudo -E ./mlpstorage". */
static unsigned command_skip(const struct words *w)
{
	for (unsigned i = 0; i < w->count; i++) {
		const char *slash = strrchr(w->list[i], '/');

		if (strcmp(slash ? slash + 1 : w->list[i], "mlpstorage") == 0)
			return i + 1;
		if (command_index(w->list[i], benchmarks) >= 0 ||
		    command_index(w->list[i], modes) >= 0)
			return 0;
	}
	return 0;
}

/* The model as mlpstorage writes it. */
static int command_find_model(struct command *c, struct err *err)
{
	const char *names[EDITION_WORKLOADS_MAX], *found;

	if (!c->model)
		return err_set(err, -EINVAL, "%s: needs --model", command_name(c));
	command_models(c, c->benchmark, names);
	found = option_spelled(c->model, names);
	if (!found)
		return command_refuse(c->benchmark == FLAGS_VECTORDB ? "index" : "model", c->model,
				      option_nearest(c->model, names), err);
	c->model = found;
	return 0;
}

int command_read(struct command *out, const struct words *w, const struct editions *editions,
		 struct err *err)
{
	bool has_command = false;
	int rc = 0;

	out->editions = editions;
	out->benchmark = out->count = 0;
	out->mode = "";
	out->model = NULL;
	out->object = false;
	for (unsigned i = command_skip(w); rc == 0 && i < w->count; i++)
		rc = flags_is(w->list[i]) && strcmp(w->list[i], "--version") != 0
			     ? command_flag(out, w, &i, err)
			     : command_word(out, &has_command, w->list[i], err);
	if (rc < 0)
		return rc;
	if (!out->benchmark)
		return err_set(err, -EINVAL,
			       "which benchmark? training, checkpointing, kvcache or vectordb");
	if (!has_command)
		return err_set(err, -EINVAL, "which command? datasize, datagen, run or configview");
	if (out->does == COMMAND_DATAGEN && !(out->benchmark & (FLAGS_TRAINING | FLAGS_VECTORDB)))
		return err_set(err, -EINVAL,
			       "%s: only trainings and vector databases have data to generate",
			       command_name(out));
	if (out->benchmark == FLAGS_KVCACHE || (out->benchmark == FLAGS_VECTORDB && !out->model))
		return 0;
	return command_find_model(out, err);
}

uint64_t command_whole(const struct command *c, const char *name, uint64_t otherwise)
{
	const char *value = command_value(c, name);

	return value ? strtoull(value, NULL, 10) : otherwise;
}

double command_number(const struct command *c, const char *name, double otherwise)
{
	const char *value = command_value(c, name);

	return value ? strtod(value, NULL) : otherwise;
}

/* Hosts of the list, of which one word may hold several: "a:2,b:2". */
static uint64_t command_listed(const struct command *c)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < c->count; i++) {
		if (strcmp(c->flags[i].flag->path, "--hosts") != 0)
			continue;
		n++;
		for (const char *at = c->flags[i].value; (at = strchr(at, ',')); at++)
			n++;
	}
	return n;
}

uint64_t command_hosts(const struct command *c)
{
	return command_whole(c, "--num-client-hosts", command_listed(c));
}

uint64_t command_ranks(const struct command *c)
{
	static const char *const names[] = {"--num-accelerators", "--max-accelerators",
					    "--num-processes"};
	uint64_t each =
		command_whole(c, "--npernode", command_whole(c, "--num-processes-per-client", 0));

	for (unsigned i = 0; i < COUNT(names); i++)
		if (command_value(c, names[i]))
			return command_whole(c, names[i], 0);
	return each * (command_listed(c) ? command_listed(c) : 1);
}
