/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of vdbbench: those of its files, which it takes from whatever section they stand in, and
 * the flags of its runs.
 *
 * Const tables; any thread. */
#ifndef HAUL_IMPORT_VDBBENCH_KEYS_H
#define HAUL_IMPORT_VDBBENCH_KEYS_H

enum vdb_kind { VDB_NUMBER, VDB_TEXT, VDB_BOOL, VDB_ANY };

struct vdb_key {
	const char *name;  /* "max_degree"; "-" of a flag is "_" */
	const char *other; /* how else it is written; NULL: no other way */
	enum vdb_kind kind;
	const char *left; /* why no option of the job follows from it; NULL: one does */
};

/* The key of that name; NULL: vdbbench has none. */
const struct vdb_key *vdb_key_find(const char *name);

#endif
