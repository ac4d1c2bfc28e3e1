#include <errno.h>
#include <string.h>

#include "workloads/worker_internal.h"

static const struct source *source_of(const struct worker *w)
{
	return &w->options->sources[w->assignment->source];
}

static void reading_lay_out(struct worker *w, struct reading *r, uint64_t file)
{
	const struct dataset *d = source_of(w)->dataset;
	uint64_t wanted = file * WORKER_SOURCES + w->assignment->source + 1;

	if (r->laid_out == wanted)
		return;
	dataset_layout(d, file, &r->layout);
	dataset_key(d, file, r->object.key);
	r->laid_out = wanted;
}

void reading_begin(struct worker *w, struct reading *r, uint64_t sample)
{
	reading_lay_out(w, r, sample / w->assignment->order.samples_per_file);
	r->state = READING_OPEN;
	r->sample = sample;
	r->id = sample;
	r->id_seen = false;
	r->object.size = 0;
	memset(r->object.state, 0, sizeof(r->object.state));
	r->flying = 0;
	r->rc = 0;
	worker_mark(w, ACCOUNT_HAUL, clock_now(w->options->clock));
	r->began_ns = w->mark_ns;
}

/* The window of a request, the same one always; NULL where no store gives bytes. */
static void *reading_window(const struct worker *w, const struct io *io)
{
	return w->windows.base
		       ? (char *)w->windows.base + (uint64_t)(io - w->ios) * w->windows.slot_bytes
		       : NULL;
}

static bool reading_ask(const struct worker *w, struct reading *r, struct io *io, enum io_op op,
			uint64_t length)
{
	*io = (struct io){
		.op = op,
		.object = &r->object,
		.offset = op == IO_READ ? r->at : 0,
		.length = length,
		.data = op == IO_READ ? reading_window(w, io) : NULL,
		.user = r,
		.due_ns = w->mark_ns,
	};
	r->flying++;
	return true;
}

/* The next piece of the extents, each of which begins when the one before has come whole. */
static bool reading_extents(struct worker *w, struct reading *r, struct io *io)
{
	uint64_t most = source_of(w)->request_bytes, left, piece;

	if (w->batch->cut && !r->rc)
		r->rc = -ECANCELED;
	while (!r->rc && r->extent < r->extent_count) {
		const struct extent *e = &r->extents[r->extent];

		left = e->offset + e->length - r->at;
		if (left) {
			piece = e->step && e->step < most ? e->step : most;
			reading_ask(w, r, io, IO_READ, left < piece ? left : piece);
			r->at += io->length;
			return true;
		}
		if (r->flying)
			return false;
		if (++r->extent < r->extent_count)
			r->at = r->extents[r->extent].offset;
	}
	if (r->flying)
		return false;
	if (!r->rc)
		hist_record(&w->sample_hist, w->mark_ns - r->began_ns);
	r->state = READING_CLOSE;
	return reading_ask(w, r, io, IO_CLOSE, 0);
}

bool reading_next(struct worker *w, struct reading *r, struct io *io)
{
	if (r->state == READING_EXTENTS)
		return reading_extents(w, r, io);
	if (r->state == READING_OVER || r->state == READING_CLOSE || r->flying)
		return false;
	return reading_ask(w, r, io, r->state == READING_OPEN ? IO_OPEN : IO_STAT, 0);
}

/* Files are of whatever size they have: the store tells it at the open, or must be asked. */
static bool reading_size_unknown(const struct worker *w)
{
	const struct source *s = source_of(w);

	return s->dataset->options.sizes == SIZES_STAT && store_can(s->store, BACKEND_CONTENT);
}

/* Evidence of cold reads, before the first of them. Looking is haul's own time. */
static void reading_witness(struct worker *w, const struct reading *r)
{
	uint64_t looks = w->residency.looks;

	for (uint32_t i = 0; i < r->extent_count; i++)
		residency_look(&w->residency, source_of(w)->store, &r->object, r->extents[i].offset,
			       r->extents[i].length);
	if (w->residency.looks != looks)
		worker_mark(w, ACCOUNT_HAUL, clock_now(w->options->clock));
}

/* Open, and its size known: its extents follow, in the order in which a real reader takes them. */
static void reading_opened(struct worker *w, struct reading *r, const struct io *io)
{
	uint64_t k = r->sample % w->assignment->order.samples_per_file;
	bool asked = reading_size_unknown(w);

	if (asked && !r->object.size && io->op == IO_OPEN) {
		r->state = READING_STAT;
		return;
	}
	if (asked && !r->object.size && !r->rc) {
		r->rc = -ENODATA;
		worker_fail(w, r, io, r->rc, "is empty");
	}
	r->state = READING_EXTENTS;
	r->extent = 0;
	r->extent_count = 0;
	if (r->rc)
		return;
	if (asked)
		dataset_layout_found(&r->layout, r->object.size);
	r->extent_count = r->layout.format->extents(&r->layout, k, r->extents);
	r->at = r->extents[0].offset;
	reading_witness(w, r);
}

void reading_answered(struct worker *w, struct reading *r, const struct io *io)
{
	int rc = io->status;

	r->flying--;
	if (io->op == IO_READ)
		rc = worker_received(w, r, io);
	else if (rc < 0)
		worker_fail(w, r, io, rc, NULL);
	if (!r->rc)
		r->rc = rc < 0 ? rc : 0;
	if (io->op == IO_STAT || (io->op == IO_OPEN && rc >= 0))
		reading_opened(w, r, io);
	else if (io->op != IO_READ)
		r->state = READING_OVER;
}
