/* SPDX-License-Identifier: Apache-2.0 */
/* Zip: headers, data descriptors and directory of an archive with stored members. Source: PKWARE's APPNOTE.TXT, sections
 * 4.3 to 4.5.
 *
 *	local header | data | data descriptor | local header | data | … | directory | its end
 *
 * The put functions write at `at` and return what follows. Pure functions, any thread. */
#ifndef HAUL_WORKLOADS_FORMATS_ZIP_H
#define HAUL_WORKLOADS_FORMATS_ZIP_H

#include <stdbool.h>
#include <stdint.h>

enum {
	ZIP_LOCAL_BYTES = 30, /* without name and extra fields */
	ZIP_ROW_BYTES = 46,   /* likewise */
	ZIP_END_BYTES = 22,
	ZIP_END64_BYTES = 56 + 20, /* the two records in front of the end of a zip64 directory */
	ZIP_EXTRA_BYTES = 4,       /* what every extra field begins with */
	ZIP_VERSION_64 = 45,       /* needed to read zip64 */
	ZIP_DOS_1980 = 0x21,       /* 1 January 1980, as a date of DOS */
	/* Flags of a member. */
	ZIP_DESCRIBED =
		1
		<< 3, /* a data descriptor has its checksum and sizes; the local header has zeros */
	ZIP_UTF8 = 1 << 11
};

/* One member, for its local header, its descriptor and its row in the directory. */
struct zip_member {
	const char *name;
	uint32_t name_bytes;
	uint32_t crc;
	uint64_t size, offset; /* of its data; of its local header */
	uint16_t version, flags, date;
	/* Which numbers are in the extra field of zip64: sizes in local header and row, the offset
	 * in the row, or in both. */
	bool sizes64, offset64, offset64_local;
	/* Extra field of the local header that aligns what follows: its id, its bytes in all (0, or
	 * ZIP_EXTRA_BYTES and more), and the byte that fills it. */
	uint16_t padding_id;
	uint16_t padding;
	uint8_t padding_fill;
};

uint32_t zip_local_bytes(const struct zip_member *m);
uint8_t *zip_put_local(uint8_t *at, const struct zip_member *m);

uint32_t zip_descriptor_bytes(const struct zip_member *m);
uint8_t *zip_put_descriptor(uint8_t *at, const struct zip_member *m);

uint32_t zip_row_bytes(const struct zip_member *m);
uint8_t *zip_put_row(uint8_t *at, const struct zip_member *m);

/* The end of the directory that has `bytes` bytes at `offset`. */
struct zip_end {
	uint64_t members, bytes, offset;
	bool zip64;       /* with the records of zip64 */
	bool hide_offset; /* the short record does not have the offset, even where it has room for it */
	uint16_t made_by_64; /* version of whoever made the zip64 record */
};
uint8_t *zip_put_end(uint8_t *at, const struct zip_end *e);

#endif
