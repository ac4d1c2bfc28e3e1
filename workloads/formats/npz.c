/* npz: a zip file with two stored members, as numpy.savez writes it: x.npy, the samples, and y.npy,
 * a label (0) for each of them.
 *
 *   local header x | npy header | payload | local header y | npy header | labels | directory
 *   0                           data_offset                             the gap
 *   `-------- header ---------´           `------------------ trailer --------------------´
 *
 * data_offset is a multiple of 64, by padding in the local header.
 *
 * The CRC-32 of x is in front of it, and ranks that make only a part of the file must know it. So the
 * payload is cut into blocks of 64 KiB, and four bytes of each block bring the CRC register back to
 * where it was before the block: the CRC of the member is that of its npy header. The four bytes are
 * as near to the block's end as possible without touching an id:
 *
 *   | id | random …            | id | random …      patch | … |
 *   block begin                                     block end
 *
 * A last block of less than LAST_LEAST bytes would not always have room beside its ids, so it takes
 * that many bytes from the block before it. Samples of 8 to 11 bytes have no four free bytes beside
 * their ids: they are filled up with zeros, and the CRC of consecutive numbers is computed in
 * logarithmic time (npz_ids_register).
 *
 * Files of nearly 4 GiB and more use zip64 for every size and offset. */
#include <string.h>

#include "core/content/fill.h"
#include "workloads/formats/crc32.h"
#include "workloads/formats/npy.h"
#include "workloads/formats/payload.h"

enum {
	BLOCK = 64 << 10,
	PATCH_BYTES = 4,
	LAST_LEAST = 16, /* bytes of a block that always have room: 3 free, an id, 4 free */
	COUNTED_MAX = ID_BYTES + PATCH_BYTES, /* below: no room beside a sample's id */
	LOCAL_BYTES = 30,
	ALIGNMENT = 64,
	EXTRA_ZIP64 = 1,
	EXTRA_PADDING = 0xd935, /* the id by which zipalign pads */
	DOS_1980 = 0x21,
	VERSION_PLAIN = 20,
	VERSION_ZIP64 = 45,
	HEADERS_MAX = 2560,
	LABEL_BYTES = 8,
	MEMBER_NAME_BYTES = 5, /* "x.npy" */
	/* Two rows and the end; with zip64 a field in each row and two more records. */
	DIRECTORY_BYTES = 2 * (46 + MEMBER_NAME_BYTES) + 22,
	DIRECTORY_ZIP64_BYTES = 2 * 28 + 56 + 20,
	ID_BITS = 64
};
/* Files from here on use zip64, so that no 32-bit field of a smaller one can overflow. HEADERS_MAX is more than
 * a file has beside payload and labels; the number is part of the format's layout. */
#define ZIP64_FROM 0xffff0000u

static void npz_layout(struct layout *l);
static uint32_t npz_extents(const struct layout *l, uint64_t sample,
			    struct extent out[FORMAT_EXTENTS_MAX]);
static void npz_header(const struct layout *l, uint8_t *out);
static void npz_trailer(const struct layout *l, uint8_t *out);
static void npz_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length);

extern const struct walk_ops npz_walk;

const struct format_ops format_npz = {
	.magic = {.bytes = "PK\x03\x04", .count = 4},
	.layout = npz_layout,
	.extents = npz_extents,
	.header = npz_header,
	.trailer = npz_trailer,
	.payload = npz_payload,
	.walk = &npz_walk,
};

/* What must be known of the checksums before any byte is made. */
struct npz_sums {
	uint32_t block_register; /* the CRC's register that each block returns to */
	uint32_t x_crc, y_crc;
	uint32_t directory_bytes;
	bool zip64;
};

/* A file of one sample is read in one range. Of other files a reader takes the directory first, then
 * the header, then the sample. */
static uint32_t npz_extents(const struct layout *l, uint64_t sample,
			    struct extent out[FORMAT_EXTENTS_MAX])
{
	uint64_t directory = LAYOUT_STATE(const struct npz_sums, l)->directory_bytes;

	if (l->samples == 1) {
		out[0] = (struct extent){.offset = 0, .length = l->size};
		return 1;
	}
	out[0] = (struct extent){.offset = l->size - directory, .length = directory};
	out[1] = (struct extent){.offset = 0, .length = l->data_offset};
	out[2] = (struct extent){.offset = l->data_offset + sample * l->sample_bytes,
				 .length = l->sample_bytes};
	return 3;
}

/* One member, for its local header and its row in the directory. */
struct npz_member {
	char name[6]; /* "x.npy", without an end in the file */
	uint32_t crc;
	uint64_t size, offset;
	uint32_t padding; /* bytes of extra field that align what follows; 0 or at least 4 */
};

/* What local header and directory row have in common: from "version needed" to the file name's
 * length. Sizes of zip64 are in the extra field. */
static uint8_t *npz_put_member(uint8_t *at, const struct npz_member *m, bool zip64)
{
	at = put_little(at, zip64 ? VERSION_ZIP64 : VERSION_PLAIN, 2);
	at = put_little(at, 0, 2); /* flags */
	at = put_little(at, 0, 2); /* stored */
	at = put_little(at, 0, 2); /* midnight */
	at = put_little(at, DOS_1980, 2);
	at = put_little(at, m->crc, 4);
	at = put_little(at, zip64 ? UINT32_MAX : m->size, 4);
	at = put_little(at, zip64 ? UINT32_MAX : m->size, 4);
	return put_little(at, sizeof(m->name) - 1, 2);
}

static uint8_t *npz_put_name(uint8_t *at, const struct npz_member *m)
{
	memcpy(at, m->name, sizeof(m->name) - 1);
	return at + sizeof(m->name) - 1;
}

static uint8_t *npz_put_local(uint8_t *at, const struct npz_member *m, bool zip64)
{
	at = put_little(at, 0x04034b50, 4);
	at = npz_put_member(at, m, zip64);
	at = put_little(at, (zip64 ? 20 : 0) + m->padding, 2);
	at = npz_put_name(at, m);
	if (zip64) {
		at = put_little(at, EXTRA_ZIP64, 2);
		at = put_little(at, 16, 2);
		at = put_little(at, m->size, 8);
		at = put_little(at, m->size, 8);
	}
	if (m->padding) {
		at = put_little(at, EXTRA_PADDING, 2);
		at = put_little(at, m->padding - 4, 2);
		memset(at, 0, m->padding - 4);
		at += m->padding - 4;
	}
	return at;
}

static uint8_t *npz_put_row(uint8_t *at, const struct npz_member *m, bool zip64)
{
	at = put_little(at, 0x02014b50, 4);
	at = put_little(at, zip64 ? VERSION_ZIP64 : VERSION_PLAIN, 2); /* made by */
	at = npz_put_member(at, m, zip64);
	at = put_little(at, zip64 ? 28 : 0, 2); /* extra */
	at = put_little(at, 0, 2);              /* comment */
	at = put_little(at, 0, 2);              /* disk */
	at = put_little(at, 0, 2);              /* internal attributes */
	at = put_little(at, 0, 4);              /* external attributes */
	at = put_little(at, zip64 ? UINT32_MAX : m->offset, 4);
	at = npz_put_name(at, m);
	if (zip64) {
		at = put_little(at, EXTRA_ZIP64, 2);
		at = put_little(at, 24, 2);
		at = put_little(at, m->size, 8);
		at = put_little(at, m->size, 8);
		at = put_little(at, m->offset, 8);
	}
	return at;
}

static uint8_t *npz_put_directory(uint8_t *at, const struct npz_member *x,
				  const struct npz_member *y, uint64_t offset, bool zip64)
{
	uint8_t *begin = at;
	uint64_t bytes;

	at = npz_put_row(at, x, zip64);
	at = npz_put_row(at, y, zip64);
	bytes = (uint64_t)(at - begin);
	if (zip64) {
		at = put_little(at, 0x06064b50, 4);
		at = put_little(at, 44, 8); /* of this record, from here */
		at = put_little(at, VERSION_ZIP64, 2);
		at = put_little(at, VERSION_ZIP64, 2);
		at = put_little(at, 0, 8); /* disks */
		at = put_little(at, 2, 8); /* members, here and in all */
		at = put_little(at, 2, 8);
		at = put_little(at, bytes, 8);
		at = put_little(at, offset, 8);
		at = put_little(at, 0x07064b50, 4); /* where the record above is */
		at = put_little(at, 0, 4);
		at = put_little(at, offset + bytes, 8);
		at = put_little(at, 1, 4);
	}
	at = put_little(at, 0x06054b50, 4);
	at = put_little(at, 0, 4);
	at = put_little(at, 2, 2);
	at = put_little(at, 2, 2);
	at = put_little(at, bytes, 4);
	at = put_little(at, zip64 ? UINT32_MAX : offset, 4);
	return put_little(at, 0, 2);
}

/* Whether samples have an id and less than PATCH_BYTES more. */
static bool npz_counted(const struct layout *l)
{
	return l->sample_bytes >= ID_BYTES && l->sample_bytes < COUNTED_MAX;
}

static uint32_t npz_ids_register(uint32_t reg, uint64_t first, uint64_t count,
				 uint64_t sample_bytes);

/* The CRC's register after the payload, from the one before it. */
static uint32_t npz_payload_register(const struct layout *l, uint32_t reg)
{
	uint8_t few[PATCH_BYTES];

	if (npz_counted(l))
		return npz_ids_register(reg, l->first_id, l->samples, l->sample_bytes);
	if (payload_bytes(l) >= PATCH_BYTES)
		return reg;
	fill(l->key, 0, few, payload_bytes(l));
	return crc32_run(reg, few, payload_bytes(l));
}

/* x.npy, or y.npy with the labels; npy gets the member's own header, of *npy_bytes. */
static struct npz_member npz_member_of(const struct layout *l, bool labels,
				       uint8_t npy[NPY_HEADER_MAX], uint32_t *npy_bytes)
{
	const struct npz_sums *sums = LAYOUT_STATE(const struct npz_sums, l);
	struct npz_member m = {.name = "x.npy", .crc = sums->x_crc};
	uint32_t local = LOCAL_BYTES + sizeof(m.name) - 1 + (sums->zip64 ? 20 : 0);

	_Static_assert((ALIGNMENT - (LOCAL_BYTES + 5)) % ALIGNMENT >= 4 &&
			       (ALIGNMENT - (LOCAL_BYTES + 5 + 20)) % ALIGNMENT >= 4,
		       "room for the padding's own head");
	if (labels) {
		*npy_bytes = npy_header(npy, "<i8", l->samples, 0);
		m.name[0] = 'y';
		m.crc = sums->y_crc;
		m.size = *npy_bytes + l->samples * LABEL_BYTES;
		m.offset = l->data_offset + payload_bytes(l);
	} else {
		*npy_bytes = npy_header(npy, "|u1", l->samples, l->sample_bytes);
		m.size = *npy_bytes + payload_bytes(l);
		m.padding = (ALIGNMENT - local % ALIGNMENT) % ALIGNMENT;
	}
	return m;
}

static void npz_header(const struct layout *l, uint8_t *out)
{
	const struct npz_sums *sums = LAYOUT_STATE(const struct npz_sums, l);
	uint8_t npy[NPY_HEADER_MAX];
	uint32_t npy_bytes;
	struct npz_member x = npz_member_of(l, false, npy, &npy_bytes);

	memcpy(npz_put_local(out, &x, sums->zip64), npy, npy_bytes);
}

static void npz_trailer(const struct layout *l, uint8_t *out)
{
	const struct npz_sums *sums = LAYOUT_STATE(const struct npz_sums, l);
	uint8_t npy[NPY_HEADER_MAX];
	uint32_t npy_bytes;
	struct npz_member x = npz_member_of(l, false, npy, &npy_bytes);
	struct npz_member y = npz_member_of(l, true, npy, &npy_bytes);
	uint8_t *at = npz_put_local(out, &y, sums->zip64);

	memcpy(at, npy, npy_bytes);
	npz_put_directory(at + npy_bytes, &x, &y, y.offset + l->gap_at + l->gap_bytes, sums->zip64);
}

static void npz_layout(struct layout *l)
{
	struct npz_sums *sums = LAYOUT_STATE(struct npz_sums, l);
	uint8_t npy_x[NPY_HEADER_MAX], npy_y[NPY_HEADER_MAX];
	uint32_t x_bytes = npy_header(npy_x, "|u1", l->samples, l->sample_bytes);
	uint32_t y_bytes = npy_header(npy_y, "<i8", l->samples, 0);
	uint64_t labels = l->samples * LABEL_BYTES;
	uint32_t local;

	sums->zip64 = x_bytes + payload_bytes(l) + y_bytes + labels >= ZIP64_FROM - HEADERS_MAX;
	sums->block_register = crc32_run(CRC32_START, npy_x, x_bytes);
	sums->x_crc = ~npz_payload_register(l, sums->block_register);
	sums->y_crc = ~crc32_multiply(crc32_run(CRC32_START, npy_y, y_bytes), crc32_zeros(labels));
	sums->directory_bytes = DIRECTORY_BYTES + (sums->zip64 ? DIRECTORY_ZIP64_BYTES : 0);

	local = LOCAL_BYTES + MEMBER_NAME_BYTES + (sums->zip64 ? 20 : 0);
	l->data_offset = (local + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + x_bytes;
	payload_contiguous(l);
	l->gap_at = local + y_bytes;
	l->gap_bytes = labels;
	l->size = l->data_offset + l->data_bytes + l->gap_at + labels + sums->directory_bytes;
}

/* The register after ids first, first + 1, … each followed by zeros up to sample_bytes. Over
 * GF(2) one id takes the register r to r X + f(id), f linear. Of 2^j ids from a multiple b of
 * 2^j it is r X_j + f(b) S_j + C_j, as b + i = b xor i; two such halves make the next j. */
static uint32_t npz_ids_register(uint32_t reg, uint64_t first, uint64_t count,
				 uint64_t sample_bytes)
{
	uint32_t x[ID_BITS], s[ID_BITS], c[ID_BITS];
	uint32_t zeros = crc32_zeros(sample_bytes - ID_BYTES);
	unsigned levels = ID_BITS - (unsigned)__builtin_clzll(count);
	uint8_t bytes[ID_BYTES];

	x[0] = crc32_zeros(sample_bytes);
	s[0] = CRC32_ONE;
	c[0] = 0;
	for (unsigned j = 1; j < levels; j++) {
		uint32_t half;

		put_little(bytes, (uint64_t)1 << (j - 1), ID_BYTES);
		half = crc32_multiply(crc32_run(0, bytes, ID_BYTES), zeros);
		x[j] = crc32_multiply(x[j - 1], x[j - 1]);
		s[j] = crc32_multiply(s[j - 1], x[j - 1] ^ CRC32_ONE);
		c[j] = crc32_multiply(c[j - 1], x[j - 1] ^ CRC32_ONE) ^
		       crc32_multiply(half, s[j - 1]);
	}
	while (count) {
		unsigned j = ID_BITS - 1 - (unsigned)__builtin_clzll(count);
		uint32_t f;

		if (first && (unsigned)__builtin_ctzll(first) < j)
			j = (unsigned)__builtin_ctzll(first);
		put_little(bytes, first, ID_BYTES);
		f = crc32_multiply(crc32_run(0, bytes, ID_BYTES), zeros);
		reg = crc32_multiply(reg, x[j]) ^ crc32_multiply(f, s[j]) ^ c[j];
		first += (uint64_t)1 << j;
		count -= (uint64_t)1 << j;
	}
	return reg;
}

/* The block that holds payload byte at. */
static uint64_t npz_block_at(uint64_t total, uint64_t at, uint64_t *begin)
{
	uint64_t rest = total % BLOCK;
	uint64_t borrowed = total > BLOCK && rest && rest < LAST_LEAST ? LAST_LEAST : 0;
	uint64_t last = total - rest - borrowed; /* where the last block begins if it is short */

	if ((rest || borrowed) && at >= last) {
		*begin = last;
		return total - last;
	}
	*begin = at / BLOCK * BLOCK;
	return borrowed && *begin + BLOCK > last ? last - *begin : BLOCK;
}

/* Where the four bytes are that fix the CRC of the payload's block which ends at end. */
static uint64_t npz_patch_at(const struct layout *l, uint64_t end)
{
	uint64_t at = end - PATCH_BYTES;
	uint64_t into;

	if (l->sample_bytes < ID_BYTES)
		return at;
	into = at % l->sample_bytes;
	if (into + PATCH_BYTES > l->sample_bytes) { /* reaches into the next sample's id */
		at -= into + PATCH_BYTES - l->sample_bytes;
		into = l->sample_bytes - PATCH_BYTES;
	}
	if (into < ID_BYTES) /* in this sample's own id: the end of the sample before is free */
		at -= into + PATCH_BYTES;
	return at;
}

static void npz_make_block(const struct layout *l, uint64_t begin, uint64_t bytes, uint8_t *out)
{
	uint32_t block_register = LAYOUT_STATE(const struct npz_sums, l)->block_register;
	uint64_t patch = npz_patch_at(l, begin + bytes) - begin;
	uint64_t after = patch + PATCH_BYTES;
	uint32_t reg;

	fill(l->key, begin, out, bytes);
	payload_stamp_ids(l, l->sample_bytes, begin, out, bytes);
	reg = crc32_run(block_register, out, patch);
	crc32_patch(reg, crc32_back(block_register, out + after, bytes - after), out + patch);
}

/* Part of a block. Without the four bytes it needs nothing of the rest. */
static __attribute__((noinline)) void npz_make_part(const struct layout *l, uint64_t begin,
						    uint64_t bytes, uint64_t from, void *out,
						    uint64_t length)
{
	uint64_t patch = npz_patch_at(l, begin + bytes) - begin;
	uint8_t block[BLOCK];

	if (from + length <= patch || from >= patch + PATCH_BYTES) {
		fill(l->key, begin + from, out, length);
		payload_stamp_ids(l, l->sample_bytes, begin + from, out, length);
		return;
	}
	npz_make_block(l, begin, bytes, block);
	memcpy(out, block + from, length);
}

static void npz_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length)
{
	uint64_t at = offset - l->data_offset;
	uint64_t total = payload_bytes(l);
	uint8_t *out = data;

	if (npz_counted(l)) {
		memset(data, 0, length);
		payload_stamp_ids(l, l->sample_bytes, at, data, length);
		return;
	}
	if (total < PATCH_BYTES) {
		fill(l->key, at, data, length);
		return;
	}
	while (length) {
		uint64_t begin, bytes = npz_block_at(total, at, &begin);
		uint64_t from = at - begin;
		uint64_t n = bytes - from < length ? bytes - from : length;

		if (n == bytes)
			npz_make_block(l, begin, bytes, out);
		else
			npz_make_part(l, begin, bytes, from, out, n);
		out += n;
		at += n;
		length -= n;
	}
}
