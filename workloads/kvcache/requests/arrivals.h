/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded arrivals: requests of an inference service as a trace has them, with the time, the tokens of the context and the
 * tokens generated. Two tables are known by their headers, whose columns may be in any order:
 *
 *	Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type      BurstGPT: seconds; since its second release
 *	                                                                          also Session ID, which may be empty
 *	TIMESTAMP,ContextTokens,GeneratedTokens                                   Azure: 2023-11-16 18:15:46.6805900, or
 *	                                                                          2024-05-12 00:00:00.001163+00:00
 *
 * Lines of JSON with times are known by their keys (sharegpt.h), and frames of MessagePack (LMCache's .lct) by their magic. What a text is shows in its first characters, before
 * anything is said of options that it does not take. Blank lines are passed over.
 *
 * The turns of a list of conversations (sharegpt.h) are requests, too. They have no times, so they arrive one after the other at
 * a given rate. Plain or compressed by zstd or gzip. A file is read twice: first as a whole, to refuse what is wrong before anything begins, and
 * then row by row as time goes on, so memory does not grow with it.
 *
 * A text may begin again at its end. The requests of each cycle are new ones, with numbers and conversations of their own. The
 * first of a cycle follows the last of the cycle before after the average time between two requests. One thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_ARRIVALS_H
#define HAUL_WORKLOADS_KVCACHE_ARRIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "workloads/kvcache/requests/sharegpt.h"

enum { ARRIVALS_COLUMNS = 3, ARRIVALS_PATH_BYTES = 1024, ARRIVALS_WRONG_BYTES = 128 };
#define ARRIVALS_NEVER UINT64_MAX

/* Which rows become requests, and when. */
struct arrivals_window {
	uint64_t from_ns,
		length_ns; /* of the trace's time, which begins with its first row; length 0: all */
	double speed;      /* times as fast as recorded */
	uint64_t context_max;       /* longer contexts are cut to it */
	uint64_t generate_max;      /* longer answers, too; 0: none */
	double rate;                /* turns of conversations per second; 0: not given */
	uint64_t characters;        /* of a text per token, at least 1 */
	uint64_t conversations_max; /* the first ones of a list; 0: all */
	bool lenient;               /* rows that are wrong are passed over, and counted */
	uint64_t again;             /* times that it begins again; ARRIVALS_NEVER: without end */
	/* Takes each row whose number modulo parts is this, and whole conversations and sessions by
	 * theirs. */
	uint32_t part, parts;
};

struct arrival {
	uint64_t number; /* of the row, from 0 on */
	uint64_t due_ns; /* since the beginning of the window */
	uint64_t context, generate;
	uint64_t cut, cut_generate; /* tokens of them that the window leaves out */
	uint64_t conversation;      /* its number */
	uint32_t turn;              /* of it, from 1 on; 0: of no conversation */
	uint64_t session;           /* a number that its rows have in common; 0: of no session */
};

struct line_reader;

enum arrivals_format { ARRIVALS_TABLE, ARRIVALS_TURNS, ARRIVALS_REQUESTS, ARRIVALS_FRAMES };

/* A text of frames while it is read. */
struct arrivals_frames {
	const char *piece; /* of the text that has not been looked at yet */
	size_t left;
	uint8_t *frame;
	size_t bytes, room;
	uint64_t number; /* of the frame, from 1 on */
	bool ended;
};

/* What the whole text has, without cuts and windows; and what is left out of it: rows without
 * context, and what is cut. */
struct arrivals_totals {
	uint64_t rows, context, generate, last_ns;
	uint64_t empty, cut_rows, cut, cut_generate, in_sessions;
	struct arrivals_blocks blocks;
	/* Bit k: in all rows, the blocks could have 2^k tokens each. */
	uint32_t block_sizes;
	uint64_t block_tokens; /* as the rows say; 0: they do not */
	uint64_t wrong;        /* rows passed over, and the first one's sentence */
	char first_wrong[ARRIVALS_WRONG_BYTES];
};

struct arrivals {
	struct line_reader *lines; /* NULL: there are none */
	enum arrivals_format format;
	struct sharegpt list;
	struct arrivals_frames frames;
	struct arrivals_window window;
	struct arrivals_totals totals;
	bool counting; /* blocks: the first time that the text is read */
	uint64_t *
		votes; /* rows whose blocks could have 2^k tokens, and those that say so; NULL: they must fit */
	unsigned fields;                   /* of each row */
	unsigned column[ARRIVALS_COLUMNS]; /* which of them are used */
	unsigned session;                  /* and the column of sessions; fields: there is none */
	bool dates;
	bool started;
	uint64_t rows, first_ns, last_ns;
	/* Of a whole cycle: rows, conversations, and the time until the next one begins. */
	uint64_t cycle_rows, cycle_conversations, cycle_ns;
	uint64_t cycle;                 /* how often it has begun again */
	bool taken;                     /* this part has had a row of this cycle */
	char path[ARRIVALS_PATH_BYTES]; /* "": the text is in memory */
	const void *data;
	size_t bytes;
	struct arrival next; /* due_ns: ARRIVALS_NEVER at the end */
	/* The blocks of next, and those of the one that was taken last. */
	struct arrivals_ids ids, taken_ids;
	int rc; /* why it ends early, and the sentence: the file has changed since it was opened, or cannot be read again */
	struct err err;
};

/* Checks the file, and reads its first row of the window. Refuses rows that are wrong or earlier
 * than the one before them with a sentence that has the number of the line, a file without a row
 * for any part, and one that shall begin again and has all rows at the same time (-EINVAL). path
 * NULL: the text is in memory, and must stay there. */
int arrivals_open(struct arrivals *a, const char *path, const void *data, size_t bytes,
		  const struct arrivals_window *window, struct err *err);
void arrivals_close(struct arrivals *a);

/* Tokens of a block as the trace has them; 0: it names none. */
uint64_t arrivals_block_tokens(const struct arrivals *a);

/* Sentences of what the whole text has: "12031 requests in 3536.999 s, 144793823 tokens of context,
 * 4122048 generated", of blocks, of what is cut, of rows without context, and of those that are wrong; "": it has none. */
enum { ARRIVALS_TEXTS = 5, ARRIVALS_TEXT_BYTES = 256 };
void arrivals_text(const struct arrivals *a, char out[ARRIVALS_TEXTS][ARRIVALS_TEXT_BYTES]);

/* When the next one is due, or ARRIVALS_NEVER; and takes it. A file that has changed since it was
 * opened ends where it is wrong, and rc tells. */
uint64_t arrivals_due(const struct arrivals *a);
/* Its blocks are in taken_ids until the next one is taken. */
void arrivals_next(struct arrivals *a, struct arrival *out);

/* arrivals_table.c. Knows a table by its header, whose line is cut into its fields; and what a row
 * says. -EINVAL with a sentence. */
int arrivals_table_header(struct arrivals *a, char *line, struct err *err);
int arrivals_table_row(const struct arrivals *a, char *line, size_t length,
		       struct arrivals_line *out, struct err *err);

/* arrivals_frames.c. Whether a text that begins so is a storage trace of LMCache; and the next record
 * of it that asks for a prompt's blocks. Returns 1, or 0 at the end, or a negative errno with a
 * sentence that does not name the frame. The next call goes on behind it, or is at the end. */
bool arrivals_frames_begin(const char *text, size_t bytes);
int arrivals_frames_next(struct arrivals_frames *f, struct line_reader *text,
			 struct arrivals_line *out, struct arrivals_ids *ids, struct err *err);
void arrivals_frames_close(struct arrivals_frames *f);

#endif
