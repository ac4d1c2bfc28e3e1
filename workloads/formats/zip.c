/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/formats/zip.h"

#include <string.h>

#include "workloads/formats/payload.h"

enum { EXTRA_ZIP64 = 1 };

static uint64_t zip_at_most(uint64_t value, uint64_t most)
{
	return value < most ? value : most;
}

/* Bytes of the extra field of zip64. */
static uint32_t zip_extra64_bytes(bool sizes, bool offset)
{
	return sizes || offset ? ZIP_EXTRA_BYTES + (sizes ? 16 : 0) + (offset ? 8 : 0) : 0;
}

static uint8_t *zip_put_extra64(uint8_t *at, const struct zip_member *m, bool offset)
{
	uint32_t bytes = zip_extra64_bytes(m->sizes64, offset);

	if (!bytes)
		return at;
	at = put_little(at, EXTRA_ZIP64, 2);
	at = put_little(at, bytes - ZIP_EXTRA_BYTES, 2);
	if (m->sizes64) {
		at = put_little(at, m->size, 8);
		at = put_little(at, m->size, 8);
	}
	return offset ? put_little(at, m->offset, 8) : at;
}

/* What local header and directory row have in common: from "version needed" to the file name's
 * length. */
static uint8_t *zip_put_common(uint8_t *at, const struct zip_member *m, bool described)
{
	uint64_t size = described ? 0 : m->sizes64 ? UINT32_MAX : m->size;

	at = put_little(at, m->version, 2);
	at = put_little(at, m->flags, 2);
	at = put_little(at, 0, 2); /* stored */
	at = put_little(at, 0, 2); /* midnight */
	at = put_little(at, m->date, 2);
	at = put_little(at, described ? 0 : m->crc, 4);
	at = put_little(at, size, 4);
	at = put_little(at, size, 4);
	return put_little(at, m->name_bytes, 2);
}

static uint8_t *zip_put_name(uint8_t *at, const struct zip_member *m)
{
	memcpy(at, m->name, m->name_bytes);
	return at + m->name_bytes;
}

static uint32_t zip_local_extra_bytes(const struct zip_member *m)
{
	return zip_extra64_bytes(m->sizes64, m->offset64_local) + m->padding;
}

uint32_t zip_local_bytes(const struct zip_member *m)
{
	return ZIP_LOCAL_BYTES + m->name_bytes + zip_local_extra_bytes(m);
}

uint8_t *zip_put_local(uint8_t *at, const struct zip_member *m)
{
	at = put_little(at, 0x04034b50, 4);
	at = zip_put_common(at, m, m->flags & ZIP_DESCRIBED);
	at = put_little(at, zip_local_extra_bytes(m), 2);
	at = zip_put_name(at, m);
	at = zip_put_extra64(at, m, m->offset64_local);
	if (m->padding) {
		uint32_t fill = m->padding - ZIP_EXTRA_BYTES;

		at = put_little(at, m->padding_id, 2);
		at = put_little(at, fill, 2);
		memset(at, m->padding_fill, fill);
		at += fill;
	}
	return at;
}

uint32_t zip_descriptor_bytes(const struct zip_member *m)
{
	if (!(m->flags & ZIP_DESCRIBED))
		return 0;
	return zip_extra64_bytes(m->sizes64, m->offset64_local) ? 24 : 16;
}

uint8_t *zip_put_descriptor(uint8_t *at, const struct zip_member *m)
{
	uint32_t bytes = zip_descriptor_bytes(m);

	if (!bytes)
		return at;
	at = put_little(at, 0x08074b50, 4);
	at = put_little(at, m->crc, 4);
	at = put_little(at, m->size, (bytes - 8) / 2);
	return put_little(at, m->size, (bytes - 8) / 2);
}

uint32_t zip_row_bytes(const struct zip_member *m)
{
	return ZIP_ROW_BYTES + m->name_bytes + zip_extra64_bytes(m->sizes64, m->offset64);
}

uint8_t *zip_put_row(uint8_t *at, const struct zip_member *m)
{
	at = put_little(at, 0x02014b50, 4);
	at = put_little(at, m->version, 2); /* made by */
	at = zip_put_common(at, m, false);
	at = put_little(at, zip_extra64_bytes(m->sizes64, m->offset64), 2);
	at = put_little(at, 0, 2); /* comment */
	at = put_little(at, 0, 2); /* disk */
	at = put_little(at, 0, 2); /* internal attributes */
	at = put_little(at, 0, 4); /* external attributes */
	at = put_little(at, m->offset64 ? UINT32_MAX : m->offset, 4);
	at = zip_put_name(at, m);
	return zip_put_extra64(at, m, m->offset64);
}

uint8_t *zip_put_end(uint8_t *at, const struct zip_end *e)
{
	if (e->zip64) {
		at = put_little(at, 0x06064b50, 4);
		at = put_little(at, 44, 8); /* of this record, from here */
		at = put_little(at, e->made_by_64, 2);
		at = put_little(at, ZIP_VERSION_64, 2);
		at = put_little(at, 0, 8);          /* disks */
		at = put_little(at, e->members, 8); /* here and in all */
		at = put_little(at, e->members, 8);
		at = put_little(at, e->bytes, 8);
		at = put_little(at, e->offset, 8);
		at = put_little(at, 0x07064b50, 4); /* where the record above is */
		at = put_little(at, 0, 4);
		at = put_little(at, e->offset + e->bytes, 8);
		at = put_little(at, 1, 4);
	}
	at = put_little(at, 0x06054b50, 4);
	at = put_little(at, 0, 4);
	at = put_little(at, zip_at_most(e->members, UINT16_MAX), 2);
	at = put_little(at, zip_at_most(e->members, UINT16_MAX), 2);
	at = put_little(at, zip_at_most(e->bytes, UINT32_MAX), 4);
	at = put_little(at, e->hide_offset ? UINT32_MAX : zip_at_most(e->offset, UINT32_MAX), 4);
	return put_little(at, 0, 2);
}
