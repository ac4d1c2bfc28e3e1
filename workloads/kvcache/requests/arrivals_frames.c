/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded arrivals as frames of LMCache's storage traces (.lct): see arrivals.h.
 *
 *	[4 bytes, big-endian: n] [n bytes of MessagePack: the header] [4 bytes] [a record: a call of the storage manager] …
 *
 * A record {"t_mono", "qualname", "args"} of submit_prefetch_task asks for the chunks of a prompt; they are the blocks of a
 * request. The calls that follow it there (what is fetched, what is written) follow it here, too, each when the one before
 * has been answered; so they are passed over. A chunk has a key for each rank and group of objects: those of the first one
 * count. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "core/line_reader.h"
#include "core/numbers.h"
#include "core/time_ns.h"
#include "workloads/kvcache/requests/arrivals.h"

/* Tokens of a chunk, which no record says, are LMCache's default. */
enum { FRAME_BYTES_MAX = 64 << 20, FRAME_FIRST_BYTES = 64 << 10, CHUNK_TOKENS = 256 };
static const double frame_seconds_max = 1e9;

enum pack_kind {
	PACK_WRONG,
	PACK_OTHER, /* nil, true, false */
	PACK_WHOLE,
	PACK_SIGNED,
	PACK_REAL,
	PACK_TEXT,
	PACK_BYTES,
	PACK_EXTENSION,
	PACK_FIXED, /* an extension whose size the head says */
	PACK_LIST,
	PACK_MAP
};

struct pack {
	const uint8_t *at, *end;
};

struct pack_value {
	enum pack_kind kind;
	uint64_t count; /* whole: the value; text and bytes: bytes; list and map: entries */
	double real;
	const uint8_t *data;
};

/* Heads from 0xc0 on, with the bytes of the number that follows. */
static const struct {
	uint8_t kind, bytes;
} pack_heads[32] = {{PACK_OTHER, 0},     {PACK_WRONG, 0},     {PACK_OTHER, 0},  {PACK_OTHER, 0},
		    {PACK_BYTES, 1},     {PACK_BYTES, 2},     {PACK_BYTES, 4},  {PACK_EXTENSION, 1},
		    {PACK_EXTENSION, 2}, {PACK_EXTENSION, 4}, {PACK_REAL, 4},   {PACK_REAL, 8},
		    {PACK_WHOLE, 1},     {PACK_WHOLE, 2},     {PACK_WHOLE, 4},  {PACK_WHOLE, 8},
		    {PACK_SIGNED, 1},    {PACK_SIGNED, 2},    {PACK_SIGNED, 4}, {PACK_SIGNED, 8},
		    {PACK_FIXED, 1},     {PACK_FIXED, 2},     {PACK_FIXED, 4},  {PACK_FIXED, 8},
		    {PACK_FIXED, 16},    {PACK_TEXT, 1},      {PACK_TEXT, 2},   {PACK_TEXT, 4},
		    {PACK_LIST, 2},      {PACK_LIST, 4},      {PACK_MAP, 2},    {PACK_MAP, 4}};

/* Of 0x80 to 0xbf, the head says the count itself. */
static void pack_small(uint8_t head, struct pack_value *v)
{
	if (head < 0x80 || head >= 0xe0)
		*v = (struct pack_value){.kind = PACK_WHOLE, .count = head, .real = (int8_t)head};
	else if (head < 0xa0)
		*v = (struct pack_value){.kind = head < 0x90 ? PACK_MAP : PACK_LIST,
					 .count = head & 15};
	else
		*v = (struct pack_value){.kind = PACK_TEXT, .count = head & 31};
}

static double pack_real(uint64_t bits, unsigned bytes)
{
	uint32_t half = (uint32_t)bits;
	float narrow;
	double wide;

	memcpy(&narrow, &half, sizeof(narrow));
	memcpy(&wide, &bits, sizeof(wide));
	return bytes == 4 ? (double)narrow : wide;
}

/* The next value, with its bytes where it is a text or bytes; what a list or map holds comes next.
 * Returns false where it is wrong, or beyond the end. */
static bool pack_next(struct pack *p, struct pack_value *v)
{
	uint64_t number = 0, rest = 0;
	unsigned bytes = 0;
	uint8_t head;

	if (p->at == p->end)
		return false;
	head = *p->at++;
	pack_small(head, v);
	if (head >= 0xc0 && head < 0xe0) {
		*v = (struct pack_value){.kind = (enum pack_kind)pack_heads[head - 0xc0].kind};
		bytes = pack_heads[head - 0xc0].bytes;
		if (v->kind == PACK_FIXED)
			rest = bytes + 1u;
		for (unsigned i = 0; v->kind != PACK_FIXED && i < bytes; i++) {
			if (p->at == p->end)
				return false;
			number = number << 8 | *p->at++;
		}
		v->count = number;
		v->real = v->kind == PACK_REAL ? pack_real(number, bytes) : (double)number;
	}
	if (v->kind == PACK_TEXT || v->kind == PACK_BYTES)
		rest = v->count;
	if (v->kind == PACK_EXTENSION)
		rest = v->count + 1;
	if (rest > (uint64_t)(p->end - p->at))
		return false;
	v->data = p->at;
	p->at += rest;
	return v->kind != PACK_WRONG;
}

/* Passes over a value with all that it holds. Each value has a byte at least, so this ends. */
static bool pack_pass(struct pack *p)
{
	struct pack_value v;

	for (uint64_t left = 1; left; left--) {
		if (left > (uint64_t)(p->end - p->at) || !pack_next(p, &v))
			return false;
		if (v.kind == PACK_LIST || v.kind == PACK_MAP)
			left += v.kind == PACK_MAP ? 2 * v.count : v.count;
	}
	return true;
}

static bool pack_is(const struct pack_value *v, const char *text)
{
	return (v->kind == PACK_TEXT || v->kind == PACK_BYTES) && v->count == strlen(text) &&
	       memcmp(v->data, text, v->count) == 0;
}

/* The value of a key of a map; of key NULL, the first map among its values, plain or typed, that has
 * keys. */
static bool pack_member(struct pack map, const char *key, struct pack *value)
{
	struct pack_value v;
	struct pack inner;

	if (!pack_next(&map, &v) || v.kind != PACK_MAP)
		return false;
	for (uint64_t i = v.count; i > 0; i--) {
		struct pack name = map;
		struct pack_value is;

		if (!pack_pass(&map) || !pack_next(&name, &is))
			return false;
		*value = map;
		if (key && pack_is(&is, key))
			return true;
		if (!key && pack_member(map, "v", &inner) && pack_member(inner, "keys", value))
			return true;
		if (!pack_pass(&map))
			return false;
	}
	return false;
}

/* What a typed value {"__t__": …, "v": …} holds, or the plain value itself. */
static struct pack pack_inside(struct pack p)
{
	struct pack inner;

	return pack_member(p, "v", &inner) ? inner : p;
}

static bool pack_value_of(struct pack map, const char *key, struct pack_value *v)
{
	struct pack at;

	return pack_member(map, key, &at) && pack_next(&at, v);
}

/* A hash of any length as 64 bits. */
static uint64_t frame_hash(const struct pack_value *v)
{
	uint64_t hash = 0;

	for (uint64_t at = 0; at < v->count; at += 8) {
		uint64_t part = 0;

		for (uint64_t i = at; i < at + 8 && i < v->count; i++)
			part = part << 8 | v->data[i];
		hash = (at ? mix64(hash) : 0) ^ part;
	}
	return hash;
}

static int frame_keys(struct pack keys, struct arrivals_ids *ids, struct err *err)
{
	struct pack_value list, hash, rank, group, first_rank = {.count = 0},
						   first_group = {.count = 0};

	keys = pack_inside(keys);
	if (!pack_next(&keys, &list) || list.kind != PACK_LIST)
		return err_set(err, -EINVAL, "\"keys\" must be a list");
	if (arrivals_ids_room(ids, (uint32_t)list.count, err) < 0)
		return -ENOMEM;
	for (uint64_t i = 0; i < list.count; i++) {
		struct pack key = pack_inside(keys);

		if (!pack_value_of(key, "chunk_hash", &hash) || !hash.count ||
		    (hash.kind != PACK_BYTES && hash.kind != PACK_TEXT))
			return err_set(err, -EINVAL, "a key has no \"chunk_hash\"");
		if (!pack_value_of(key, "kv_rank", &rank))
			rank.count = 0;
		if (!pack_value_of(key, "object_group_id", &group))
			group.count = 0;
		if (!i) {
			first_rank = rank;
			first_group = group;
		}
		if (rank.count == first_rank.count && group.count == first_group.count)
			ids->id[ids->count++] = frame_hash(&hash);
		pack_pass(&keys);
	}
	return 0;
}

/* Returns 1, or 0: it is a call that asks for no prompt. */
static int frame_record(struct pack record, struct arrivals_line *out, struct arrivals_ids *ids,
			struct err *err)
{
	static const char asks[] = ".submit_prefetch_task";
	struct pack_value time, name;
	struct pack args, keys;
	int rc;

	if (!pack_value_of(record, "t_mono", &time) || time.kind < PACK_WHOLE ||
	    time.kind > PACK_REAL || !(time.real >= 0 && time.real < frame_seconds_max))
		return err_set(err, -EINVAL, "\"t_mono\" must be a number of seconds");
	if (!pack_value_of(record, "qualname", &name) || name.kind != PACK_TEXT ||
	    !pack_member(record, "args", &args))
		return err_set(err, -EINVAL, "has no \"qualname\" or \"args\"");
	if (name.count < strlen(asks) ||
	    memcmp(name.data + name.count - strlen(asks), asks, strlen(asks)) != 0)
		return 0;
	if (!pack_member(args, "keys", &keys) && !pack_member(args, NULL, &keys))
		return err_set(err, -EINVAL, "asks for no \"keys\"");
	rc = frame_keys(keys, ids, err);
	*out = (struct arrivals_line){.ns = (uint64_t)(time.real * (double)NS_PER_S + 0.5),
				      .context = (uint64_t)ids->count * CHUNK_TOKENS,
				      .blocks = true,
				      .block_tokens = CHUNK_TOKENS};
	return rc < 0 ? rc : 1;
}

static int frame_header(struct pack header, struct err *err)
{
	struct pack_value magic, format, schema, level;

	if (!pack_value_of(header, "magic", &magic) || !pack_is(&magic, "LMCT"))
		return err_set(err, -EINVAL, "is no header of a trace of LMCache");
	if (!pack_value_of(header, "format_version", &format) || format.count != 1 ||
	    (pack_value_of(header, "trace_schema_version", &schema) && schema.count != 1))
		return err_set(err, -EINVAL,
			       "is the header of another version of LMCache's traces than 1");
	if (!pack_value_of(header, "level", &level) || !pack_is(&level, "storage"))
		return err_set(err, -EINVAL,
			       "is the header of a trace of another level than storage");
	return 0;
}

/* Takes so many bytes of the text. Returns how many there are, or a negative errno. */
static int64_t frames_take(struct arrivals_frames *f, struct line_reader *text, uint8_t *to,
			   size_t bytes, struct err *err)
{
	size_t have = 0;

	while (have < bytes) {
		size_t n;
		int rc = f->left ? 1 : line_reader_piece(text, &f->piece, &f->left, err);

		if (rc <= 0)
			return rc < 0 ? rc : (int64_t)have;
		n = f->left < bytes - have ? f->left : bytes - have;
		memcpy(to + have, f->piece, n);
		f->piece += n;
		f->left -= n;
		have += n;
	}
	return (int64_t)have;
}

/* Reads a frame as a whole. Returns 1, or 0 at the end. */
static int frames_read(struct arrivals_frames *f, struct line_reader *text, struct err *err)
{
	uint8_t head[4] = {0}, *grown;
	int64_t got = frames_take(f, text, head, sizeof(head), err);

	f->number++;
	f->bytes = (size_t)head[0] << 24 | head[1] << 16 | head[2] << 8 | head[3];
	if (got <= 0)
		return (int)got;
	if (got == sizeof(head) && (!f->bytes || f->bytes > FRAME_BYTES_MAX))
		return err_set(err, -EINVAL, "says that it has %zu bytes; 1 to %d are possible",
			       f->bytes, FRAME_BYTES_MAX);
	if (got == sizeof(head) && f->bytes > f->room) {
		f->room = f->bytes > FRAME_FIRST_BYTES ? f->bytes : FRAME_FIRST_BYTES;
		grown = realloc(f->frame, f->room);
		if (!grown)
			return err_set(err, -ENOMEM, "no memory for its %zu bytes", f->bytes);
		f->frame = grown;
	}
	if (got == sizeof(head))
		got = frames_take(f, text, f->frame, f->bytes, err);
	else
		f->bytes = sizeof(head);
	if (got >= 0 && (size_t)got < f->bytes)
		return err_set(err, -EINVAL, "is cut off: %" PRId64 " of its %zu bytes are there",
			       got, f->bytes);
	return got < 0 ? (int)got : 1;
}

bool arrivals_frames_begin(const char *text, size_t bytes)
{
	static const char magic[] = "LMCT";

	/* The length of a header is far below 2^24. */
	for (size_t i = 5; bytes > 5 && !text[0] && i + strlen(magic) <= bytes && i < 256; i++)
		if (memcmp(text + i, magic, strlen(magic)) == 0)
			return true;
	return false;
}

int arrivals_frames_next(struct arrivals_frames *f, struct line_reader *text,
			 struct arrivals_line *out, struct arrivals_ids *ids, struct err *err)
{
	int rc = 0;

	while (rc == 0 && !f->ended) {
		struct pack whole, check;

		rc = frames_read(f, text, err);
		/* Nobody knows where the next one begins. */
		f->ended = rc <= 0;
		if (rc <= 0)
			return rc;
		whole = check = (struct pack){f->frame, f->frame + f->bytes};
		if (!pack_pass(&check) || check.at != check.end)
			return err_set(err, -EINVAL, "is no MessagePack of its %zu bytes",
				       f->bytes);
		rc = f->number == 1 ? frame_header(whole, err) : frame_record(whole, out, ids, err);
	}
	return rc;
}

void arrivals_frames_close(struct arrivals_frames *f)
{
	free(f->frame);
	*f = (struct arrivals_frames){.number = 0};
}
