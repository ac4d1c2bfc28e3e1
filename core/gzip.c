/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of gzip: see gzip.h. */
#include "core/gzip.h"

#include <errno.h>
#include <isa-l/igzip_lib.h>
#include <stdlib.h>

struct gzip_reader {
	struct inflate_state state;
};

int gzip_reader_open(struct gzip_reader **out, struct err *err)
{
	struct gzip_reader *r = malloc(sizeof(*r));

	if (!r)
		return err_set(err, -ENOMEM, "no memory to decompress it");
	isal_inflate_init(&r->state);
	r->state.crc_flag = ISAL_GZIP;
	*out = r;
	return 0;
}

void gzip_reader_close(struct gzip_reader *r)
{
	free(r);
}

bool gzip_reader_whole(const struct gzip_reader *r)
{
	return r->state.block_state == ISAL_BLOCK_FINISH;
}

int gzip_reader_step(struct gzip_reader *r, struct zstd_step *step, struct err *err)
{
	struct inflate_state *s = &r->state;
	int rc;

	/* ISA-L stops at the end of a member, and has taken no byte behind it. */
	if (gzip_reader_whole(r) && step->used == step->in_bytes)
		return 0;
	if (gzip_reader_whole(r))
		isal_inflate_reset(s);
	s->next_in = (uint8_t *)step->in + step->used;
	s->avail_in = (uint32_t)(step->in_bytes - step->used);
	s->next_out = (uint8_t *)step->out + step->made;
	s->avail_out = (uint32_t)(step->room - step->made);
	rc = isal_inflate(s);
	step->used = step->in_bytes - s->avail_in;
	step->made = step->room - s->avail_out;
	if (rc < 0)
		return err_set(err, -EBADMSG, "is not valid gzip: %s",
			       rc == ISAL_INCORRECT_CHECKSUM ? "its checksum is wrong"
							     : "its data are damaged");
	return 0;
}
