/* hdf5: the superblock, and the object headers that it and links in them lead to: their checksums, and that
 * they lie in the file. Of links that lead back, of more than a few and of files in HDF5's first format, whose
 * headers have no sums, nothing more is looked at; the data are passed over.
 *
 * Source: HDF5 File Format Specification 3.0, sections II.A, IV.A. */
#include <string.h>

#include "workloads/formats/walk.h"

enum { MARK, SUPERBLOCK, SEEK, PREFIX, PREFIX_REST, MESSAGE, LINK, PASS, SUM };
enum {
	MARK_BYTES = 12,
	SUPERBLOCK_BYTES = 48,
	FIRST_FORMAT_BYTES = 48, /* of it, up to the file's end */
	PREFIX_BYTES = 6,
	SUM_BYTES = 4,
	MESSAGE_LINK = 6,
	TIMES = 32,
	ATTRIBUTES = 16,
	ORDER = 4, /* flags of an object header */
	WANTED_MAX = 12
};

/* Object headers to come, at the end of w->bytes: what is gathered here needs the begin only. */
enum { WANTED_AT = WALK_BYTES - WANTED_MAX * 8 };

static uint64_t wanted_at(const struct walk *w, uint32_t i)
{
	uint64_t address;

	memcpy(&address, w->bytes + WANTED_AT + 8 * i, 8);
	return address;
}

static void want(struct walk *w, uint64_t address)
{
	if (w->depth < WANTED_MAX)
		memcpy(w->bytes + WANTED_AT + 8 * w->depth++, &address, 8);
}

/* The first header at or behind at becomes w->value; those before it were passed. 0: none. */
static void seek(struct walk *w, uint64_t at)
{
	uint32_t left = 0;

	w->value = 0;
	for (uint32_t i = 0; i < w->depth; i++) {
		uint64_t address = wanted_at(w, i);

		if (address < at)
			continue;
		memmove(w->bytes + WANTED_AT + 8 * left++, w->bytes + WANTED_AT + 8 * i, 8);
		if (!w->value || address < w->value)
			w->value = address;
	}
	w->depth = left;
	walk_part(w, SEEK, w->value ? w->value - at : 0);
}

static const char *superblock(struct walk *w, uint64_t at)
{
	uint64_t root = walk_little(w->bytes + 36, 8);

	if (lookup3(w->bytes, SUPERBLOCK_BYTES - SUM_BYTES) !=
	    walk_little(w->bytes + 44, SUM_BYTES))
		return "the superblock has another checksum";
	if (walk_little(w->bytes + 28, 8) > w->size || root >= w->size)
		return "the superblock tells of a longer file";
	want(w, root);
	seek(w, at);
	return NULL;
}

static const char *mark(struct walk *w, struct walk_piece *p)
{
	uint8_t version, offset_bytes;

	if (w->have < MARK_BYTES && !walk_gather(w, p, MARK_BYTES))
		return NULL;
	version = w->bytes[8];
	offset_bytes = version < 2 ? 8 : w->bytes[9];
	if (memcmp(w->bytes, "\x89HDF\r\n\x1a\n", 8) != 0 || version > 3)
		return "has no HDF5 signature";
	if (offset_bytes != 8) {
		walk_part(w, SEEK, 0);
		return NULL;
	}
	if (!walk_gather(w, p, SUPERBLOCK_BYTES))
		return NULL;
	if (version >= 2)
		return superblock(w, p->offset);
	walk_part(w, SEEK, 0);
	return NULL;
}

/* "OHDR", version, flags: what its length is written in, and what stands before it. */
static const char *prefix(struct walk *w)
{
	if (memcmp(w->bytes, "OHDR\x02", 5) != 0)
		return "has no object header where a link leads to one";
	w->field = w->bytes[5];
	w->shift = (w->field & TIMES ? 16 : 0) + (w->field & ATTRIBUTES ? 4 : 0);
	w->part = PREFIX_REST;
	return NULL;
}

static const char *prefix_rest(struct walk *w, uint64_t at)
{
	unsigned bytes = 1u << (w->field & 3);
	uint64_t length = walk_little(w->bytes + PREFIX_BYTES + w->shift, bytes);

	if (length > w->size - at)
		return "an object header is longer than the file";
	lookup3_begin(&w->lookup3, w->have + length);
	lookup3_add(&w->lookup3, w->bytes, w->have);
	w->count = length; /* of the messages that are left */
	walk_part(w, MESSAGE, 0);
	return NULL;
}

static uint32_t message_bytes(const struct walk *w)
{
	return w->field & ORDER ? 6 : 4;
}

/* The next message, or what is left behind the last, or the sum. */
static void next_message(struct walk *w)
{
	bool none = w->count < message_bytes(w);

	walk_part(w, none ? w->count ? PASS : SUM : MESSAGE, none ? w->count : 0);
	if (none)
		w->count = 0;
}

static const char *message(struct walk *w)
{
	uint64_t length = walk_little(w->bytes + 1, 2);
	uint8_t type = w->bytes[0];

	lookup3_add(&w->lookup3, w->bytes, w->have);
	w->count -= w->have;
	if (length > w->count)
		return "a message is longer than its object header";
	w->count -= length;
	walk_part(w, type == MESSAGE_LINK && length < WANTED_AT ? LINK : PASS, length);
	return NULL;
}

/* A hard link leads to a header: version, flags, what the flags say there is, a name, an address. */
static const char *link_message(struct walk *w)
{
	uint8_t flags = w->bytes[1];
	uint64_t at, name, length = w->have;

	lookup3_add(&w->lookup3, w->bytes, length);
	at = 2u + (flags & 8 ? 1 : 0) + (flags & 4 ? 8 : 0) + (flags & 16 ? 1 : 0);
	if (length < at + (1u << (flags & 3)))
		return "a link is shorter than its name";
	name = walk_little(w->bytes + at, 1u << (flags & 3));
	at += 1u << (flags & 3);
	if (name > length - at)
		return "a link is shorter than its name";
	at += name;
	if (!(flags & 8 && w->bytes[2])) {
		if (length - at < 8 || walk_little(w->bytes + at, 8) >= w->size)
			return "a link leads out of the file";
		want(w, walk_little(w->bytes + at, 8));
	}
	next_message(w);
	return NULL;
}

static const char *sum(struct walk *w, uint64_t at)
{
	if (lookup3_end(&w->lookup3) != walk_little(w->bytes, SUM_BYTES))
		return "an object header has another checksum";
	seek(w, at);
	return NULL;
}

/* Data, to the next header that is wanted; or a message. */
static const char *passed(struct walk *w, struct walk_piece *p)
{
	const uint8_t *span;
	uint64_t n;

	if (w->part == SEEK && !w->value) {
		p->left = 0;
		return NULL;
	}
	n = walk_span(w, p, &span);
	if (w->part == PASS)
		lookup3_add(&w->lookup3, span, n);
	if (w->left)
		return NULL;
	if (w->part == PASS)
		next_message(w);
	else
		walk_part(w, PREFIX, 0);
	return NULL;
}

static const char *gathered(struct walk *w, struct walk_piece *p)
{
	switch (w->part) {
	case MARK:
		return mark(w, p);
	case PREFIX:
		return walk_gather(w, p, PREFIX_BYTES) ? prefix(w) : NULL;
	case PREFIX_REST:
		return walk_gather(w, p, PREFIX_BYTES + w->shift + (1u << (w->field & 3)))
			       ? prefix_rest(w, p->offset)
			       : NULL;
	case MESSAGE:
		if (w->count < message_bytes(w))
			next_message(w);
		else if (walk_gather(w, p, message_bytes(w)))
			return message(w);
		return NULL;
	case LINK:
		return walk_gather(w, p, (uint32_t)w->left) ? link_message(w) : NULL;
	default:
		return walk_gather(w, p, SUM_BYTES) ? sum(w, p->offset) : NULL;
	}
}

const char *walk_hdf5(struct walk *w, struct walk_piece *p)
{
	const char *wrong = NULL;

	if (walk_jumps(w, p) && !(w->part == SEEK && !w->value))
		return "an object header is not where the others are";
	while (!wrong &&
	       (p->left || ((w->part == SEEK || w->part == PASS) && w->value && !w->left)))
		wrong = w->part == SEEK || w->part == PASS ? passed(w, p) : gathered(w, p);
	return wrong;
}

const char *walk_hdf5_end(const struct walk *w, uint64_t samples)
{
	(void)samples;
	return w->part == SEEK && !w->value ? NULL : "ends inside its headers";
}
