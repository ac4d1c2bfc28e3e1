/* Progress line of phases that run at the same time: see together.h. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ranks/run/run.h"
#include "ranks/run/together.h"

#define NOTE_NS 500000000u

/* From the first rank of a phase to rank 0. The last one says so, so that none stays behind. */
struct together_note {
	uint64_t last;
	char text[PROGRESS_BYTES];
};

static bool progress_is_head(const struct together *t)
{
	return t->mine < t->set->count && t->own.group->rank == 0;
}

/* What rank 0 has heard, in the order of the phases. */
static void progress_join(struct together *t)
{
	char *beside = t->p.line.beside;
	size_t bytes = sizeof(t->p.line.beside), n = 0;

	*beside = '\0';
	for (uint32_t i = 0; i < t->set->count; i++)
		if (t->notes[i][0] && n < bytes)
			n += (size_t)snprintf(beside + n, bytes - n, "%s%s", n ? " | " : "",
					      t->notes[i]);
}

static void progress_take(struct together *t, uint32_t i)
{
	struct together_note note;

	if (group_receive(t->all.group, t->heads[i], &note, sizeof(note)) < 0)
		note.last = 1;
	t->notes_over[i] = note.last != 0;
	memcpy(t->notes[i], note.text, sizeof(t->notes[i]));
	if (note.last)
		t->notes[i][0] = '\0';
}

static void progress_collect(struct together *t)
{
	for (uint32_t i = 0; i < t->set->count; i++)
		while (t->heads[i] && !t->notes_over[i] && group_arrived(t->all.group, t->heads[i]))
			progress_take(t, i);
	progress_join(t);
}

static void progress_send(struct together *t, const struct progress *p)
{
	struct together_note note = {.last = p == NULL};
	const struct job_phase *phase = t->p.ctx.phase;
	char text[PROGRESS_BYTES] = "";
	bool named = strcmp(phase->name, phase->section->name) != 0;

	if (p)
		progress_text(&t->p.line, p, clock_now(&t->run->clock), text);
	snprintf(note.text, sizeof(note.text), "%s%s%.*s", named ? phase->name : "",
		 named ? ": " : "", PROGRESS_BYTES - JOB_NAME_BYTES - 3, text);
	group_send(t->all.group, 0, &note, sizeof(note));
}

static void together_progress_hook(void *together, const struct progress *p)
{
	struct together *t = together;
	uint64_t now = clock_now(&t->run->clock);

	if (t->run->world->rank == 0) {
		progress_collect(t);
		progress_show(&t->p.line, p);
	} else if (now >= t->note_ns) {
		t->note_ns = now + NOTE_NS;
		progress_send(t, p);
	}
}

/* Nobody looks on. */
static bool progress_unseen(const struct together *t)
{
	return t->options->quiet && !t->options->live;
}

void together_progress_begin(struct together *t)
{
	bool first = t->run->world->rank == 0;

	if (progress_unseen(t))
		return;
	progress_start(&t->p.line, &t->run->clock, t->options->quiet ? -1 : STDERR_FILENO,
		       first ? t->run->at.run : 1, first ? series_runs(&t->run->series) : 1);
	if (first && t->options->live)
		progress_live(&t->p.line, &t->run->live,
			      t->mine < t->set->count ? t->p.ctx.phase->name : NULL);
	if (!progress_is_head(t))
		return;
	t->p.ctx.progress = together_progress_hook;
	t->p.ctx.progress_argument = t;
}

void together_progress_wait(struct together *t)
{
	if (progress_unseen(t) || t->run->world->rank != 0)
		return;
	progress_collect(t);
	progress_show_beside(&t->p.line);
}

void together_progress_last(struct together *t)
{
	if (!progress_unseen(t) && progress_is_head(t) && t->run->world->rank != 0)
		progress_send(t, NULL);
}

void together_progress_end(struct together *t)
{
	if (progress_unseen(t) || t->run->world->rank != 0)
		return;
	for (uint32_t i = 0; i < t->set->count; i++)
		while (t->heads[i] && !t->notes_over[i])
			progress_take(t, i);
	progress_end(&t->p.line);
	if (t->mine < t->set->count)
		progress_live_end(&t->p.line, phase_status(&t->p));
}
