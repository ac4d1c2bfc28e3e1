/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences with a name or a number in them, for answers: struct answer takes only texts that stay
 * where they are.
 *
 * A store keeps each different sentence once, in memory that it has from the beginning, and a
 * bounded number of them. Sentences are for failures; making one searches those that are there. Any
 * thread may make one. */
#ifndef HAUL_BACKENDS_HTTP_SENTENCE_H
#define HAUL_BACKENDS_HTTP_SENTENCE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { SENTENCES_MAX = 64, SENTENCE_BYTES = 512 };

struct sentences {
	pthread_mutex_t lock; /* of those who add one */
	_Atomic uint32_t count;
	char text[SENTENCES_MAX][SENTENCE_BYTES];
};

int sentences_init(struct sentences *s);
void sentences_free(struct sentences *s);

/* The sentence, which stays until sentences_free; where there is no room for another, the constant
 * text instead. */
__attribute__((format(printf, 3, 4))) const char *
sentence_keep(struct sentences *s, const char *instead, const char *format, ...);

#endif
