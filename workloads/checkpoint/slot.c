/* SPDX-License-Identifier: Apache-2.0 */
/* Slot: see slot.h. */
#include "workloads/checkpoint/slot.h"

#include <string.h>

/* What is behind the end of a region is zeros. */
void checkpoint_slot_image(const void *slot, uint64_t at, void *to, uint64_t bytes)
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
	tensors = checkpoint_file_tensors(&s->file);
	arena_free(&s->arena);
	rc = archive_make(&s->archive, (enum archive_kind)r->shape.framing, &tensors, &s->arena,
			  err);
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
