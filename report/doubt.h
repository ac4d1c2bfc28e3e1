/* SPDX-License-Identifier: Apache-2.0 */
/* Doubts: what a phase's figures are worth. One table has all of them, each with its test; the
 * first sentence of text and page, accept and compare know the same.
 *
 * A doubt that voids says that the figures are not those of the storage, or not of what was asked
 * for. Others only make them less sure. */
#ifndef HAUL_REPORT_DOUBT_H
#define HAUL_REPORT_DOUBT_H

#include <stdbool.h>

#include "facts/document.h"
#include "report/series.h"

/* X(enum, name in JSON, whether it voids the figures, what to do about it). The most serious
 * first. */
/* clang-format off */
#define DOUBT_LIST(X) \
	X(ENDED, "ended_early", true, "its figures are of what it did until then") \
	X(DETAILS, "details", false, \
	  "move the folder FILE.runs along with the results, or run without --side-files") \
	X(CACHE, "page_cache", true, \
	  "read cold (docs/existing-data.md), or more data than the memory holds") \
	X(MEMORY, "memory", true, "put the store on the storage that is meant") \
	X(HOLES, "holes", true, "write the files whole, as they will be read") \
	X(CLIENT, "client", true, "use more nodes, or more cores for each rank") \
	X(ENDPOINT, "endpoint", true, "look at the endpoint, or take it out of the job") \
	X(ERRORS, "errors", true, "look at the first failures below") \
	X(LOST, "lost_blocks", true, "the storage has lost what was written to it") \
	X(UNFINISHED, "unfinished", true, "offer less, or let the phase run longer") \
	X(WARMUP, "warmup", true, "make the phase longer than its warm-up") \
	X(SHORT, "short", false, "measure for longer, since start-up counts for much of it") \
	X(FEW, "few_requests", false, "a 99th percentile takes more requests") \
	X(DEGRADED, "degraded", false, "measure again once the storage is whole") \
	X(CACHE_UNKNOWN, "page_cache_unknown", false, \
	  "read as a user who may write the files, or with direct I/O") \
	X(MACHINE, "machine", false, "leave the cores of the ranks to haul") \
	X(NODE, "node", false, "see the sentence about the node") \
	X(REPEATS, "repeats", false, "--repeat 5 shows how much it varies") \
	X(UNKNOWN, "unknown", false, "its target is neither met nor missed")
/* clang-format on */

enum doubt {
#define DOUBT_ENUM(id, ...) DOUBT_##id,
	DOUBT_LIST(DOUBT_ENUM)
#undef DOUBT_ENUM
		DOUBTS
};
extern const struct doubt_kind {
	const char *name;
	bool voids;
	const char *remedy;
} doubt_kinds[DOUBTS];

/* Fewer repeats have no interval that tells much. */
enum { DOUBT_REPEATS_LEAST = 3, DOUBT_BYTES = 256, DOUBT_SENTENCE_BYTES = DOUBT_BYTES + 128 };

struct doubts {
	bool raised[DOUBTS];
	char why[DOUBTS][DOUBT_BYTES]; /* "100 % of the bytes came from this client's page cache" */
	unsigned count;
};

/* What a phase's own results raise. f: where it is from. */
void doubts_of(struct doubts *d, const struct results_file *f, const struct results_phase_read *p);

/* Of the repeats of a phase, and that there are too few of them. phases: [count]. */
void doubts_of_line(struct doubts *d, const struct results_file *f, const struct series_line *line);

/* Takes back a doubt that is told otherwise. */
void doubts_drop(struct doubts *d, enum doubt doubt);

/* "100 % of the bytes came from …: read cold …": with what to do. */
void doubt_sentence(char sentence[DOUBT_SENTENCE_BYTES], const struct doubts *d, enum doubt doubt);

/* Appends to a sentence whether its figures count, and why not: ", but that does not count: …".
 * quiet: the doubt about repeats is left out. */
void doubts_say(char *text, size_t size, const struct doubts *d, bool quiet);

bool doubts_void(const struct doubts *d);

/* Of a file that has been read: void figures neither meet nor miss a target. */
void doubts_judge(struct results_file *f);

/* A sentence that claims something of the figures says before its point that void ones do not count. */
void doubts_but(char *sentence, size_t size, const struct doubts *d, bool claims);

/* Rows of the list of doubts that is open in a document, and a line of text for each. side, phase:
 * whose they are. Of doubts that two sides of a comparison share, each has its own. */
void doubts_write(struct document *d, const struct doubts *doubts, const char *side,
		  const char *phase);

/* Why the phase cannot tell a target's figure: "no step came after the warm-up". */
const char *doubt_unknown(const struct doubts *d);

#endif
