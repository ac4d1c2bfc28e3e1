/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5: the superblock, and the object headers that it and the links in them lead to: their
 * checksums, and that they lie in the file. Not followed are links that lead back, more links than
 * a few, and files in HDF5's first format, whose headers have no checksums. The data are passed
 * over.
 *
 * Source: HDF5 File Format Specification 3.0, sections II.A, IV.A. */
#include <string.h>

#include "workloads/formats/lookup3.h"
#include "workloads/formats/walk.h"

enum { MARK, SUPERBLOCK, SEEK, PREFIX, PREFIX_REST, MESSAGE, LINK, HDF5_WALK_PASS, HDF5_WALK_SUM };
enum {
	HDF5_WALK_MARK_BYTES = 12,
	HDF5_WALK_SUPERBLOCK_BYTES = 48, /* in the first format: up to the file's end */
	HDF5_WALK_PREFIX_BYTES = 6,
	HDF5_WALK_SUM_BYTES = 4,
	HDF5_WALK_MESSAGE_LINK = 6,
	TIMES = 32,
	ATTRIBUTES = 16,
	ORDER = 4, /* flags of an object header */
	WANTED_MAX = 12,
	LINK_MAX = 223
};

struct hdf5_walk {
	uint64_t wanted[WANTED_MAX]; /* object headers to come */
	uint32_t wanted_count;
	uint32_t flags;    /* of the object header */
	uint64_t target;   /* address of the header that is looked for; 0: none */
	uint64_t messages; /* bytes of messages left in the header */
	struct lookup3 sum;
	uint8_t bytes[LINK_MAX + 1];
};

static void hdf5_walk_want(struct hdf5_walk *s, uint64_t address)
{
	if (s->wanted_count < WANTED_MAX)
		s->wanted[s->wanted_count++] = address;
}

/* The first wanted header at or behind at becomes the target; those before it were passed. */
static void hdf5_walk_seek(struct walk *w, struct hdf5_walk *s, uint64_t at)
{
	uint32_t left = 0;

	s->target = 0;
	for (uint32_t i = 0; i < s->wanted_count; i++) {
		uint64_t address = s->wanted[i];

		if (address < at)
			continue;
		s->wanted[left++] = address;
		if (!s->target || address < s->target)
			s->target = address;
	}
	s->wanted_count = left;
	walk_part(w, SEEK, s->target ? s->target - at : 0);
}

static bool hdf5_walk_rests(const struct walk *w, const struct hdf5_walk *s)
{
	return w->part == SEEK && !s->target;
}

static const char *hdf5_walk_superblock(struct walk *w, struct hdf5_walk *s, uint64_t at)
{
	uint64_t root = walk_little(s->bytes + 36, 8);

	if (lookup3(s->bytes, HDF5_WALK_SUPERBLOCK_BYTES - HDF5_WALK_SUM_BYTES) !=
	    walk_little(s->bytes + 44, HDF5_WALK_SUM_BYTES))
		return "the superblock has another checksum";
	if (walk_little(s->bytes + 28, 8) > w->size || root >= w->size)
		return "the superblock tells of a longer file";
	hdf5_walk_want(s, root);
	hdf5_walk_seek(w, s, at);
	return NULL;
}

static const char *hdf5_walk_mark(struct walk *w, struct hdf5_walk *s, struct walk_piece *p)
{
	uint8_t version, offset_bytes;

	if (w->have < HDF5_WALK_MARK_BYTES &&
	    !walk_gather(w, p, s->bytes, sizeof(s->bytes), HDF5_WALK_MARK_BYTES))
		return NULL;
	version = s->bytes[8];
	offset_bytes = version < 2 ? 8 : s->bytes[9];
	if (memcmp(s->bytes, "\x89HDF\r\n\x1a\n", 8) != 0 || version > 3)
		return "has no HDF5 signature";
	if (offset_bytes != 8) {
		walk_part(w, SEEK, 0);
		return NULL;
	}
	if (!walk_gather(w, p, s->bytes, sizeof(s->bytes), HDF5_WALK_SUPERBLOCK_BYTES))
		return NULL;
	if (version >= 2)
		return hdf5_walk_superblock(w, s, p->offset);
	walk_part(w, SEEK, 0);
	return NULL;
}

/* Bytes between the prefix's flags and the length of the header. */
static uint32_t hdf5_walk_between(const struct hdf5_walk *s)
{
	return (s->flags & TIMES ? 16 : 0) + (s->flags & ATTRIBUTES ? 4 : 0);
}

/* "OHDR", version, flags: they say in how many bytes the length is written, and where. */
static const char *hdf5_walk_prefix(struct walk *w, struct hdf5_walk *s)
{
	if (memcmp(s->bytes, "OHDR\x02", 5) != 0)
		return "has no object header where a link leads to one";
	s->flags = s->bytes[5];
	w->part = PREFIX_REST;
	return NULL;
}

static const char *hdf5_walk_prefix_rest(struct walk *w, struct hdf5_walk *s, uint64_t at)
{
	unsigned bytes = 1u << (s->flags & 3);
	uint64_t length =
		walk_little(s->bytes + HDF5_WALK_PREFIX_BYTES + hdf5_walk_between(s), bytes);

	if (length > w->size - at)
		return "an object header is longer than the file";
	lookup3_begin(&s->sum, w->have + length);
	lookup3_add(&s->sum, s->bytes, w->have);
	s->messages = length;
	walk_part(w, MESSAGE, 0);
	return NULL;
}

static uint32_t hdf5_walk_message_bytes(const struct hdf5_walk *s)
{
	return s->flags & ORDER ? 6 : 4;
}

/* The next message, or what is left behind the last one, or the checksum. */
static void hdf5_walk_next_message(struct walk *w, struct hdf5_walk *s)
{
	bool none = s->messages < hdf5_walk_message_bytes(s);

	walk_part(w, none ? s->messages ? HDF5_WALK_PASS : HDF5_WALK_SUM : MESSAGE,
		  none ? s->messages : 0);
	if (none)
		s->messages = 0;
}

static const char *hdf5_walk_message(struct walk *w, struct hdf5_walk *s)
{
	uint64_t length = walk_little(s->bytes + 1, 2);
	uint8_t type = s->bytes[0];

	lookup3_add(&s->sum, s->bytes, w->have);
	s->messages -= w->have;
	if (length > s->messages)
		return "a message is longer than its object header";
	s->messages -= length;
	walk_part(w, type == HDF5_WALK_MESSAGE_LINK && length <= LINK_MAX ? LINK : HDF5_WALK_PASS,
		  length);
	return NULL;
}

/* A hard link leads to a header: version, flags, what the flags say there is, a name, an
 * address. */
static const char *hdf5_walk_link(struct walk *w, struct hdf5_walk *s)
{
	uint8_t flags = s->bytes[1];
	uint64_t at, name, length = w->have;

	lookup3_add(&s->sum, s->bytes, length);
	at = 2u + (flags & 8 ? 1 : 0) + (flags & 4 ? 8 : 0) + (flags & 16 ? 1 : 0);
	if (length < at + (1u << (flags & 3)))
		return "a link is shorter than its name";
	name = walk_little(s->bytes + at, 1u << (flags & 3));
	at += 1u << (flags & 3);
	if (name > length - at)
		return "a link is shorter than its name";
	at += name;
	if (!(flags & 8 && s->bytes[2])) {
		if (length - at < 8 || walk_little(s->bytes + at, 8) >= w->size)
			return "a link leads out of the file";
		hdf5_walk_want(s, walk_little(s->bytes + at, 8));
	}
	hdf5_walk_next_message(w, s);
	return NULL;
}

static const char *hdf5_walk_sum(struct walk *w, struct hdf5_walk *s, uint64_t at)
{
	if (lookup3_end(&s->sum) != walk_little(s->bytes, HDF5_WALK_SUM_BYTES))
		return "an object header has another checksum";
	hdf5_walk_seek(w, s, at);
	return NULL;
}

/* Data, to the next header that is wanted; or a message. */
static const char *hdf5_walk_passed(struct walk *w, struct hdf5_walk *s, struct walk_piece *p)
{
	const uint8_t *span;
	uint64_t n;

	if (hdf5_walk_rests(w, s)) {
		p->left = 0;
		return NULL;
	}
	n = walk_span(w, p, &span);
	if (w->part == HDF5_WALK_PASS)
		lookup3_add(&s->sum, span, n);
	if (w->left)
		return NULL;
	if (w->part == HDF5_WALK_PASS)
		hdf5_walk_next_message(w, s);
	else
		walk_part(w, PREFIX, 0);
	return NULL;
}

static const char *hdf5_walk_gathered(struct walk *w, struct hdf5_walk *s, struct walk_piece *p)
{
	uint32_t room = sizeof(s->bytes);

	switch (w->part) {
	case MARK:
		return hdf5_walk_mark(w, s, p);
	case PREFIX:
		return walk_gather(w, p, s->bytes, room, HDF5_WALK_PREFIX_BYTES)
			       ? hdf5_walk_prefix(w, s)
			       : NULL;
	case PREFIX_REST:
		return walk_gather(w, p, s->bytes, room,
				   HDF5_WALK_PREFIX_BYTES + hdf5_walk_between(s) +
					   (1u << (s->flags & 3)))
			       ? hdf5_walk_prefix_rest(w, s, p->offset)
			       : NULL;
	case MESSAGE:
		if (s->messages < hdf5_walk_message_bytes(s))
			hdf5_walk_next_message(w, s);
		else if (walk_gather(w, p, s->bytes, room, hdf5_walk_message_bytes(s)))
			return hdf5_walk_message(w, s);
		return NULL;
	case LINK:
		return walk_gather(w, p, s->bytes, room, w->left) ? hdf5_walk_link(w, s) : NULL;
	default:
		return walk_gather(w, p, s->bytes, room, HDF5_WALK_SUM_BYTES)
			       ? hdf5_walk_sum(w, s, p->offset)
			       : NULL;
	}
}

static const char *hdf5_walk_take(struct walk *w, struct walk_piece *p)
{
	struct hdf5_walk *s = WALK_STATE(struct hdf5_walk, w);
	const char *wrong = NULL;

	if (p->jumps && !hdf5_walk_rests(w, s))
		return "an object header is not where the others are";
	while (!wrong && (p->left || ((w->part == SEEK || w->part == HDF5_WALK_PASS) && s->target &&
				      !w->left)))
		wrong = w->part == SEEK || w->part == HDF5_WALK_PASS ? hdf5_walk_passed(w, s, p)
								     : hdf5_walk_gathered(w, s, p);
	return wrong;
}

static const char *hdf5_walk_end(const struct walk *w, uint64_t samples)
{
	(void)samples;
	return hdf5_walk_rests(w, WALK_STATE(const struct hdf5_walk, w))
		       ? NULL
		       : "ends inside its headers";
}

const struct walk_ops hdf5_walk = {hdf5_walk_take, hdf5_walk_end, true};
