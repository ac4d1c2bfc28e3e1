/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/sentence.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int sentences_init(struct sentences *s)
{
	atomic_init(&s->count, 0);
	return -pthread_mutex_init(&s->lock, NULL);
}

void sentences_free(struct sentences *s)
{
	pthread_mutex_destroy(&s->lock);
}

static const char *sentence_find(const struct sentences *s, const char *text)
{
	uint32_t count = atomic_load_explicit(&s->count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(s->text[i], text) == 0)
			return s->text[i];
	}
	return NULL;
}

/* With the lock held. */
static const char *sentence_add(struct sentences *s, const char *text)
{
	uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

	if (count == SENTENCES_MAX)
		return NULL;
	memcpy(s->text[count], text, strlen(text) + 1);
	atomic_store_explicit(&s->count, count + 1, memory_order_release);
	return s->text[count];
}

const char *sentence_keep(struct sentences *s, const char *instead, const char *format, ...)
{
	char text[SENTENCE_BYTES];
	const char *kept;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	kept = sentence_find(s, text);
	if (kept)
		return kept;
	pthread_mutex_lock(&s->lock);
	kept = sentence_find(s, text); /* another thread may have been first */
	if (!kept)
		kept = sentence_add(s, text);
	pthread_mutex_unlock(&s->lock);
	return kept ? kept : instead;
}
