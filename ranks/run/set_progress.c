/* SPDX-License-Identifier: Apache-2.0 */
/* Progress line of a set of phases: see set_progress.h. */
#include "ranks/run/set_progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ranks/run/run.h"

#define NOTE_NS 500000000u

/* From the first rank of a phase to rank 0. The last one says so, so that none stays behind. */
struct set_note {
	uint64_t last;
	char text[PROGRESS_BYTES];
};

/* What rank 0 has heard, in the order of the phases. */
static void progress_join(struct set_progress *s)
{
	char *beside = s->p->line.beside;
	size_t bytes = sizeof(s->p->line.beside), n = 0;

	*beside = '\0';
	for (uint32_t i = 0; i < s->count; i++)
		if (s->notes[i][0] && n < bytes)
			n += (size_t)snprintf(beside + n, bytes - n, "%s%s", n ? " | " : "",
					      s->notes[i]);
}

static void progress_take(struct set_progress *s, uint32_t i)
{
	struct set_note note;

	if (group_receive(s->all, s->heads[i], &note, sizeof(note)) < 0)
		note.last = 1;
	s->notes_over[i] = note.last != 0;
	memcpy(s->notes[i], note.text, sizeof(s->notes[i]));
	if (note.last)
		s->notes[i][0] = '\0';
}

static void progress_collect(struct set_progress *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		while (s->heads[i] && !s->notes_over[i] && group_arrived(s->all, s->heads[i]))
			progress_take(s, i);
	progress_join(s);
}

static void progress_send(struct set_progress *s, const struct progress *p)
{
	struct set_note note = {.last = p == NULL};
	const struct job_phase *phase = s->p->ctx.phase;
	char text[PROGRESS_BYTES] = "";
	size_t bytes = strlen(phase->name);
	bool named;

	if (p)
		progress_text(&s->p->line, p, clock_now(&s->run->clock), text);
	/* A line names its phase already where its work is called otherwise. */
	named = strcmp(phase->name, phase->section->name) == 0 ||
		(strncmp(text, phase->name, bytes) == 0 && text[bytes] == ':');
	snprintf(note.text, sizeof(note.text), "%s%s%.*s", named ? "" : phase->name,
		 named ? "" : ": ", PROGRESS_BYTES - JOB_NAME_BYTES - 3, text);
	group_send(s->all, 0, &note, sizeof(note));
}

static void set_progress_hook(void *set, const struct progress *p)
{
	struct set_progress *s = set;
	uint64_t now = clock_now(&s->run->clock);

	if (s->run->world->rank == 0) {
		progress_collect(s);
		progress_show(&s->p->line, p);
	} else if (now >= s->note_ns) {
		s->note_ns = now + NOTE_NS;
		progress_send(s, p);
	}
}

void set_progress_begin(struct set_progress *s, const struct run_options *options)
{
	struct progress_line *line = &s->p->line;
	bool first = s->run->world->rank == 0;

	s->seen = !options->quiet || options->live;
	if (!s->seen)
		return;
	progress_start(line, &s->run->clock, options->quiet || !first ? -1 : STDERR_FILENO,
		       first ? s->run->at.run : 1, first ? series_runs(&s->run->series) : 1);
	line->phase = s->takes_part ? s->p->ctx.phase->name : NULL;
	if (first && options->live)
		progress_live(line, &s->run->live, line->phase);
	if (!s->head)
		return;
	s->p->ctx.progress = set_progress_hook;
	s->p->ctx.progress_argument = s;
}

void set_progress_wait(struct set_progress *s)
{
	if (!s->seen || s->run->world->rank != 0)
		return;
	progress_collect(s);
	progress_show_beside(&s->p->line);
}

void set_progress_last(struct set_progress *s)
{
	if (s->seen && s->head && s->run->world->rank != 0)
		progress_send(s, NULL);
}

void set_progress_end(struct set_progress *s)
{
	if (!s->seen || s->run->world->rank != 0)
		return;
	for (uint32_t i = 0; i < s->count; i++)
		while (s->heads[i] && !s->notes_over[i])
			progress_take(s, i);
	progress_end(&s->p->line);
}

void set_progress_done(struct set_progress *s, const char *status)
{
	if (s->seen && s->run->world->rank == 0 && s->takes_part)
		progress_live_end(&s->p->line, status);
}
