/* SPDX-License-Identifier: Apache-2.0 */
/* All bytes of a rank in memory: see run.h. */
#include "workloads/checkpoint/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/units.h"
#include "workloads/checkpoint/checkpoint.h"

/* Makes bytes of a slot's file, for struct writer_object. What is behind the end of a region is zeros. */
static void checkpoint_slot_image(const void *slot, uint64_t at, void *to, uint64_t bytes)
{
	const struct checkpoint_slot *s = slot;
	uint64_t left = at < s->archive.size ? s->archive.size - at : 0;

	if (left)
		archive_image(&s->archive, s->content, at, to, left < bytes ? left : bytes);
	if (left < bytes)
		memset((char *)to + left, 0, bytes - left);
}

int checkpoint_slot_lay_out(struct checkpoint_run *r, struct checkpoint_slot *s, uint32_t i,
			    struct err *err)
{
	struct archive_tensors tensors;
	int rc;

	checkpoint_file(&r->shape, r->ctx->group->rank, i, &s->file);
	arena_free(&s->arena);
	rc = checkpoint_file_list(&s->file, &s->arena, err);
	tensors = checkpoint_file_tensors(&s->file);
	if (rc == 0)
		rc = archive_make(&s->archive, checkpoint_archive_kind(&r->shape), &tensors,
				  &s->arena, err);
	if (rc < 0)
		return rc;
	s->object = (struct object){.size = 0};
	marker_file_key(r->options->folder, r->number, &s->file, s->object.key);
	s->content = marker_content(&r->marker, s->file.number);
	atomic_store(&s->next, 0);
	s->what = (struct writer_object){.object = &s->object,
					 .offset = s->file.offset,
					 .size = s->file.region ? s->file.region : s->archive.size,
					 .piece = r->chunk,
					 .image = checkpoint_slot_image,
					 .argument = s,
					 .next = &s->next};
	return 0;
}

struct checkpoint_whole_file {
	uint64_t at; /* in the memory */
	struct checkpoint_slot slot;
};

/* Places all files in the memory. */
static int whole_place(struct checkpoint_run *r, struct err *err)
{
	struct checkpoint_whole *h = &r->whole;
	uint64_t alignment = max_u64(CHECKPOINT_WHOLE_ALIGNMENT, r->store.alignment), bytes;

	h->what = (struct writer_object){.piece = r->chunk, .next = &h->next};
	for (uint32_t i = 0; i < h->file_count; i++) {
		int rc = checkpoint_file_bytes(&r->shape, r->ctx->group->rank, i, &bytes, err);

		if (rc < 0)
			return rc;
		h->files[i].at = h->what.size;
		h->what.size += checkpoint_whole_room(bytes, alignment);
	}
	return 0;
}

/* The file that byte at of the memory belongs to. */
static uint32_t whole_file_at(const struct checkpoint_whole *h, uint64_t at)
{
	uint32_t low = 0, high = h->file_count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (h->files[middle].at <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Makes bytes of one or several files, no faster than they come to the host. */
static void whole_image(const void *argument, uint64_t at, void *to, uint64_t bytes)
{
	const struct checkpoint_run *r = argument;
	const struct checkpoint_whole *h = &r->whole;
	uint64_t done = 0;

	for (uint32_t i = whole_file_at(h, at); done < bytes; i++) {
		uint64_t end = i + 1 < h->file_count ? h->files[i + 1].at : h->what.size;
		uint64_t from = at + done, part = min_u64(end - from, bytes - done);

		checkpoint_slot_image(&h->files[i].slot, from - h->files[i].at, (char *)to + done,
				      part);
		done += part;
	}
	checkpoint_pace(r, h->began_ns, at + bytes);
}

void checkpoint_pace(const struct checkpoint_run *r, uint64_t began_ns, uint64_t bytes)
{
	if (r->d2h)
		clock_sleep_until(r->store.clock, began_ns + (uint64_t)((unsigned __int128)bytes *
									1000000000u / r->d2h));
}

int checkpoint_whole_take(struct checkpoint_run *r, struct err *err)
{
	struct checkpoint_whole *h = &r->whole;
	char text[UNITS_TEXT_BYTES];
	int rc;

	h->began_ns = clock_now(r->store.clock);
	h->file_count = checkpoint_data_files(&r->shape, r->ctx->group->rank);
	h->files = calloc(h->file_count ? h->file_count : 1, sizeof(*h->files));
	if (!h->files)
		return err_set(err, -ENOMEM, "no memory for %u files", h->file_count);
	rc = whole_place(r, err);
	if (rc < 0)
		return rc;
	rc = buffers_init(&h->memory, h->what.size ? 1 : 0, h->what.size, err);
	if (rc < 0)
		return err_set(err, rc, "no memory for all bytes of a checkpoint: rank %u has %s",
			       r->ctx->group->rank, units_bytes_binary(text, (double)h->what.size));
	h->what.bytes = h->memory.base;
	h->what.image = whole_image;
	h->what.argument = r;
	return 0;
}

void checkpoint_whole_free(struct checkpoint_run *r)
{
	struct checkpoint_whole *h = &r->whole;

	for (uint32_t i = 0; h->files && i < h->file_count; i++)
		arena_free(&h->files[i].slot.arena);
	free(h->files);
	h->files = NULL;
	buffers_free(&h->memory);
}

int checkpoint_whole_lay_out(struct checkpoint_run *r, struct err *err)
{
	struct checkpoint_whole *h = &r->whole;
	int rc = 0;

	atomic_store(&h->next, 0);
	h->makers = 0;
	h->failed = false;
	for (uint32_t i = 0; rc == 0 && i < h->file_count; i++)
		rc = checkpoint_slot_lay_out(r, &h->files[i].slot, i, err);
	return rc;
}

void *checkpoint_whole_bytes(const struct checkpoint_run *r, uint32_t file)
{
	const struct checkpoint_whole *h = &r->whole;

	return h->files ? (char *)h->memory.base + h->files[file].at : NULL;
}

int checkpoint_whole_make(struct checkpoint_run *r, uint64_t thread)
{
	struct writer *writer = &r->members[thread].writer;
	struct checkpoint_whole *h = &r->whole;
	struct checkpoint_write *c = &r->write;
	uint64_t began_ns = clock_now(r->store.clock);
	int rc;

	pthread_mutex_lock(&c->lock);
	h->makers++;
	pthread_mutex_unlock(&c->lock);
	rc = writer_make(writer, &h->what);
	/* All bytes are taken. Whoever has taken some is still among the makers, or has made
	 * them. */
	pthread_mutex_lock(&c->lock);
	h->makers--;
	h->failed = h->failed || rc < 0;
	pthread_cond_broadcast(&c->changed);
	while (h->makers && !h->failed)
		pthread_cond_wait(&c->changed, &c->lock);
	rc = h->failed ? -ECANCELED : 0;
	pthread_mutex_unlock(&c->lock);
	writer->fill_ns += clock_now(r->store.clock) - began_ns;
	return rc;
}
