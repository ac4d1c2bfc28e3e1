/* SPDX-License-Identifier: Apache-2.0 */
/* Format webdataset: each sample is a member of a tar archive, a file "ID.bin".
 *
 *   head, 512 bytes | sample | zeros up to a block | head | sample | … | zeros
 *   0                 512                            stride              the gap
 *
 * It ends in at least two blocks of zeros. Source: POSIX 1003.1, pax, "ustar Interchange
 * Format". */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/content/fill.h"
#include "workloads/formats/payload.h"
#include "workloads/formats/walk.h"

enum { BLOCK = 512, MODE_AT = 100, SIZE_AT = 124, SUM_AT = 148, TYPE_AT = 156, MAGIC_AT = 257 };

/* {"format": "webdataset", "webdataset": {"blocks": 20}} */
struct webdataset_options {
	uint64_t blocks;
};
_Static_assert(sizeof(struct webdataset_options) <= FORMAT_OPTION_BYTES, "room for the options");

const struct option webdataset_options[] = {
	OPT_U64("blocks", struct webdataset_options, blocks, .def = 20, .min = 1, .max = 1 << 16,
		.help = "zeros fill an archive up to a multiple of this number of blocks"),
	OPT_END,
};

static int webdataset_check(const void *options, uint64_t samples, uint64_t smallest,
			    uint64_t largest, struct err *err)
{
	(void)options;
	(void)samples;
	(void)smallest;
	if (!(largest >> 33))
		return 0;
	return err_set(err, -EINVAL,
		       "a member of an archive has less than 8 GiB, not %" PRIu64 " bytes",
		       largest);
}

static uint64_t webdataset_fill_up(uint64_t bytes, uint64_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

static void webdataset_layout(struct layout *l)
{
	const struct webdataset_options *o = l->options;

	l->stride = BLOCK + webdataset_fill_up(l->sample_bytes, BLOCK);
	l->data_bytes = l->samples * l->stride;
	l->size = webdataset_fill_up(l->data_bytes + 2 * BLOCK, o->blocks * BLOCK);
	l->gap_bytes = l->size - l->data_bytes;
	l->id_at = BLOCK;
	l->id_bytes = l->sample_bytes < ID_BYTES ? 0 : ID_BYTES;
}

static uint32_t webdataset_extents(const struct layout *l, uint64_t sample,
				   struct extent out[FORMAT_EXTENTS_MAX])
{
	out[0] = (struct extent){.offset = sample * l->stride, .length = l->stride};
	return 1;
}

static void webdataset_put_octal(uint8_t *at, uint64_t value, unsigned digits)
{
	for (; digits; value /= 8)
		at[--digits] = (uint8_t)('0' + value % 8);
}

/* The sum of a head's bytes, with spaces in place of the sum itself. */
static uint64_t webdataset_sum(const uint8_t head[BLOCK])
{
	uint64_t sum = 8 * ' ';

	for (unsigned i = 0; i < BLOCK; i++)
		sum += i < SUM_AT || i >= SUM_AT + 8 ? head[i] : 0;
	return sum;
}

/* The head of a member: name, mode, owner, group, size, time, checksum, type, magic. */
static void webdataset_head(const struct layout *l, uint64_t sample, uint8_t head[BLOCK])
{
	memset(head, 0, BLOCK);
	memcpy(put_decimal(head, l->first_id + sample), ".bin", 4);
	for (unsigned at = MODE_AT; at < SIZE_AT; at += 8)
		webdataset_put_octal(head + at, at == MODE_AT ? 0644 : 0, 7);
	webdataset_put_octal(head + SIZE_AT, l->sample_bytes, 11);
	webdataset_put_octal(head + SIZE_AT + 12, 0, 11);
	head[TYPE_AT] = '0';
	memcpy(head + MAGIC_AT, "ustar\00000", 8); /* its end, and version 00 */
	webdataset_put_octal(head + SUM_AT, webdataset_sum(head), 6);
	head[SUM_AT + 7] = ' ';
}

static void webdataset_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length)
{
	uint8_t *out = data, head[BLOCK];

	while (length) {
		uint64_t sample = offset / l->stride, at = offset % l->stride;
		uint64_t body = BLOCK + l->sample_bytes;
		uint64_t end = at < BLOCK ? BLOCK : at < body ? body : l->stride;
		uint64_t n = end - at < length ? end - at : length;

		if (at < BLOCK) {
			webdataset_head(l, sample, head);
			memcpy(out, head + at, n);
		} else if (at < body) {
			at += sample * l->sample_bytes - BLOCK;
			fill(l->key, at, out, n);
			payload_stamp_ids(l, l->sample_bytes, at, out, n);
		} else {
			memset(out, 0, n);
		}
		out += n;
		offset += n;
		length -= n;
	}
}

enum { MEMBERS, END }; /* parts of the walk */
struct webdataset_walk {
	uint64_t members;
	uint8_t head[BLOCK];
};

static uint64_t webdataset_octal(const uint8_t *at, unsigned digits)
{
	uint64_t value = 0;

	while (digits-- && *at >= '0' && *at <= '7')
		value = value * 8 + (uint64_t)(*at++ - '0');
	return value;
}

/* Checks a head when all of its bytes have arrived. */
static const char *webdataset_walk_head(struct walk *w, struct webdataset_walk *s)
{
	static const uint8_t zeros[BLOCK];
	uint64_t size = webdataset_octal(s->head + SIZE_AT, 11);

	if (memcmp(s->head, zeros, BLOCK) == 0) {
		walk_part(w, END, 0);
		return NULL;
	}
	if (memcmp(s->head + MAGIC_AT, "ustar", 6) != 0)
		return "has no member where one must begin";
	if (webdataset_sum(s->head) != webdataset_octal(s->head + SUM_AT, 8))
		return "a member's head has another checksum";
	s->members++;
	walk_part(w, MEMBERS, webdataset_fill_up(size, BLOCK));
	return NULL;
}

static const char *webdataset_walk_take(struct walk *w, struct walk_piece *p)
{
	struct webdataset_walk *s = WALK_STATE(struct webdataset_walk, w);
	const char *wrong = NULL;
	const uint8_t *span;

	while (!wrong && p->left) {
		if (w->part == END)
			p->left = 0;
		else if (w->left)
			walk_span(w, p, &span);
		else if (walk_gather(w, p, s->head, BLOCK, BLOCK))
			wrong = webdataset_walk_head(w, s);
	}
	return wrong;
}

static const char *webdataset_walk_end(const struct walk *w, uint64_t samples)
{
	const struct webdataset_walk *s = WALK_STATE(const struct webdataset_walk, w);

	if (!w->last) /* the end of a sample, not of the file */
		return w->part == END || w->left || w->have ? "ends inside a member" : NULL;
	if (w->part != END)
		return "ends without zeros";
	return w->whole && s->members != samples ? "has another number of members than samples"
						 : NULL;
}

static const struct walk_ops webdataset_walk = {webdataset_walk_take, webdataset_walk_end, true};

const struct format_ops format_webdataset = {
	.extension = "tar",
	.magic = {.bytes = "ustar", .count = 5, .offset = MAGIC_AT},
	.stays_open = true,
	.streams = true,
	.check = webdataset_check,
	.layout = webdataset_layout,
	.extents = webdataset_extents,
	.payload = webdataset_payload,
	.walk = &webdataset_walk,
};
