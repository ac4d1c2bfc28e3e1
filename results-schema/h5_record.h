/* Records as attributes of a group: each member under its own name (member.h). */
#ifndef HAUL_RESULTS_SCHEMA_H5_RECORD_H
#define HAUL_RESULTS_SCHEMA_H5_RECORD_H

#include <hdf5.h>
#include <stddef.h>

#include "core/err.h"
#include "results-schema/member.h"

/* Members are of kinds MEMBER_TEXT, MEMBER_U64 and MEMBER_REAL. */
/* A member that the file lacks keeps its value: names are added to a schema, never renamed. */
int h5_read_record(hid_t at, const struct member *members, size_t count, void *record,
		   struct err *err);

#endif
