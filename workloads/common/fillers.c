/* Filler threads: see fillers.h. */
#include "workloads/common/fillers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/time_ns.h"

static const uint64_t fillers_wait_ns = NS_PER_S;

bool piece_fill(struct piece *p, struct clock *clock)
{
	uint32_t asked = PIECE_ASKED;
	uint64_t before_ns;

	if (!atomic_compare_exchange_strong_explicit(&p->state, &asked, PIECE_FILLING,
						     memory_order_acquire, memory_order_relaxed))
		return false;
	before_ns = clock_now(clock);
	p->image(p->argument, p->at, p->memory, p->length);
	p->fill_ns = clock_now(clock) - before_ns;
	return true;
}

/* Called after piece_fill on a thread other than the writer's. Either the writer, which has
 * announced that it waits, is seen here, or the writer sees the state in filled_wait. */
static void piece_give_back(struct piece *p)
{
	struct filled *filled = p->filled;

	atomic_store(&p->state, PIECE_FULL);
	if (atomic_load(&filled->waited_for) && atomic_exchange(&filled->waited_for, false))
		sem_post(&filled->posted);
}

void filled_wait(struct filled *f, const struct piece *pieces, uint32_t count)
{
	bool full = false;

	atomic_store(&f->waited_for, true);
	for (uint32_t i = 0; i < count && !full; i++)
		full = atomic_load(&pieces[i].state) == PIECE_FULL;
	/* A filler that has taken the announcement posts the semaphore, so that post must be taken,
	 * too. */
	if (full && atomic_exchange(&f->waited_for, false))
		return;
	while (sem_wait(&f->posted) < 0 && errno == EINTR)
		;
}

/* Makes one requested piece, of any writer. The writers are served in turn. */
static bool fillers_work(struct fillers *f, uint32_t *turn)
{
	for (uint32_t n = 0; n < f->writers; n++) {
		uint32_t w = (*turn)++ % f->writers;

		for (uint32_t i = 0; i < f->piece_counts[w]; i++) {
			struct piece *p = &f->pieces[w][i];

			if (atomic_load_explicit(&p->state, memory_order_relaxed) != PIECE_ASKED ||
			    !piece_fill(p, f->clock))
				continue;
			piece_give_back(p);
			return true;
		}
	}
	return false;
}

static void *fillers_run(void *argument)
{
	struct fillers *f = argument;
	uint32_t turn = 0;

	while (!atomic_load_explicit(&f->closing, memory_order_relaxed))
		if (credits_take(&f->asked, fillers_wait_ns) == 0)
			fillers_work(f, &turn);
	return NULL;
}

int fillers_open(struct fillers *f, uint32_t count, uint32_t writers_max, struct clock *clock,
		 struct err *err)
{
	*f = (struct fillers){.clock = clock, .writers_max = writers_max};
	if (!count)
		return 0;
	credits_init(&f->asked, 0);
	f->threads = calloc(count, sizeof(*f->threads));
	f->pieces = calloc(writers_max, sizeof(struct piece *));
	f->piece_counts = calloc(writers_max, sizeof(*f->piece_counts));
	if (!f->threads || !f->pieces || !f->piece_counts)
		return err_set(err, -ENOMEM, "no memory for %u threads that make bytes", count);
	for (; f->count < count; f->count++) {
		int rc = pthread_create(&f->threads[f->count], NULL, fillers_run, f);

		if (rc)
			return err_set(err, -rc, "no thread %u of %u to make bytes: %s",
				       f->count + 1, count, strerror(rc));
	}
	return 0;
}

void fillers_close(struct fillers *f)
{
	atomic_store(&f->closing, true);
	if (f->count)
		credits_give(&f->asked, f->count);
	for (uint32_t i = 0; i < f->count; i++)
		pthread_join(f->threads[i], NULL);
	free(f->threads);
	free(f->pieces);
	free(f->piece_counts);
	*f = (struct fillers){0};
}

void fillers_add(struct fillers *f, struct piece *pieces, uint32_t count)
{
	if (!f->count)
		return;
	f->pieces[f->writers] = pieces;
	f->piece_counts[f->writers] = count;
	f->writers++;
}

void fillers_ask(struct fillers *f, uint32_t count)
{
	if (f->count && count)
		credits_give(&f->asked, count);
}
