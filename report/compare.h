/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of results: the first side with each other one, phase by phase. A side is a file, or
 * one combination of the sweeps' values in it. The repeat is the unit (core/ratio.h).
 *
 * A verdict is about the main metric of a phase: the one that its kind names (series_main), or,
 * where a side does not have it, the first of COMPARE_LIST that is a rate and that both sides have.
 * All verdicts of a comparison together shall be wrong by chance in at most 5 of 100 comparisons,
 * so each of n verdicts is made at the level 1 - 0.05 / n (Bonferroni). With one repeat of a side
 * there is no verdict. */
#ifndef HAUL_REPORT_COMPARE_H
#define HAUL_REPORT_COMPARE_H

#include <stdbool.h>

#include "core/err.h"
#include "core/ratio.h"
#include "facts/document.h"
#include "report/difference.h"
#include "report/series.h"

enum {
	COMPARE_SIDES_MAX = 26,
	COMPARE_PATH_BYTES = 1024,
	COMPARE_NAME_BYTES = COMPARE_PATH_BYTES + RECORD_SWEEP_BYTES
};

/* X(enum, word of the table, key in JSON, how it is shown, the figure of series.h, whether it is a
 * rate, whether less is better). */
/* clang-format off */
#define COMPARE_LIST(X) \
	X(BYTES, "GB/s", "bytes_per_second", GIGA, SERIES_BYTES, true, false) \
	X(OPERATIONS, "ops/s", "operations_per_second", FIGURE, SERIES_OPERATIONS, true, false) \
	X(SAMPLES, "samples/s", "samples_per_second", FIGURE, SERIES_SAMPLES, true, false) \
	X(WRITE, "GB/s written", "bytes_written_per_second", GIGA, SERIES_WRITE, false, false) \
	X(READ, "GB/s read", "bytes_read_per_second", GIGA, SERIES_READ, false, false) \
	X(AU, "AU", "au", SHARE, SERIES_AU, false, false) \
	X(SECONDS, "seconds", "seconds", FIGURE, SERIES_SECONDS, false, true) \
	X(P99, "p99", "p99_ns", NS, SERIES_P99, false, true)
/* clang-format on */

enum compare_metric {
#define COMPARE_ENUM(id, ...) COMPARE_##id,
	COMPARE_LIST(COMPARE_ENUM)
#undef COMPARE_ENUM
		COMPARE_METRICS
};
extern const struct compare_metric_kind {
	const char *word, *key;
	enum column_format format;
	enum series_figure figure;
	bool rate, less_is_better;
} compare_metrics[COMPARE_METRICS];

struct compare_side {
	const struct results_file *file;
	const struct series_lines *lines;
	uint64_t combination;
	char letter[2];                /* "A" */
	char name[COMPARE_NAME_BYTES]; /* the path, and what the sweeps set */
};

/* A phase on the first side and on another one. */
struct compare_pair {
	unsigned side;
	const struct series_line *line[2]; /* of the first side, and of this one */
	struct ratio ratios
		[COMPARE_METRICS]; /* of the first side to this one; NaN where one has no such figure */
	bool judged;               /* both have several repeats, and the phase has a main metric */
	enum compare_metric metric; /* the main one; COMPARE_METRICS: none */
};

struct compare_phase {
	const struct series_line *line; /* of the first side that has the phase */
	uint32_t missing;               /* bits of the sides that have not */
	unsigned pair_count;
	struct compare_pair *pairs;
};

struct comparison {
	unsigned side_count, phase_count, pair_count, verdicts;
	double level; /* of each interval */
	struct compare_side sides[COMPARE_SIDES_MAX];
	struct compare_phase *phases;
	struct differences differences;
	struct series_lines *lines; /* [files] */
	unsigned file_count;
};

/* -EINVAL with a sentence where there is nothing to compare: one side, more than COMPARE_SIDES_MAX,
 * or no finished phase that the first side has in common with another one: then *out is NULL. It
 * refers to the files. */
int compare_make(struct comparison **out, const struct results_file *const *files, unsigned count,
		 struct err *err);
void compare_free(struct comparison *c);

/* What a pair shows, as sentences: the verdict, or why there is none; a drift. Each ends with a
 * newline. */
enum { COMPARE_SENTENCE_BYTES = 1024 };
void compare_sentence(char sentence[COMPARE_SENTENCE_BYTES], const struct comparison *c,
		      const struct compare_pair *pair);

/* Writes it as a document. about: a struct comparison. */
document_writer compare_write;

#endif
