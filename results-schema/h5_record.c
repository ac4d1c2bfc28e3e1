/* Records as attributes: see h5_record.h. */
#include "results-schema/h5_record.h"

#include "results-schema/h5.h"
#include "results-schema/h5_read.h"

int h5_read_record(hid_t at, const struct member *members, size_t count, void *record,
		   struct err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		const struct member *m = &members[i];
		void *value = (char *)record + m->offset;

		if (H5Aexists(at, m->name) <= 0)
			continue;
		if (m->kind == MEMBER_TEXT)
			rc = h5_read_into(at, m->name, value, m->bytes, err);
		else if (m->kind == MEMBER_REAL)
			rc = h5_read_real(at, m->name, value, err);
		else
			rc = h5_read_u64(at, m->name, value, err);
	}
	return rc;
}
