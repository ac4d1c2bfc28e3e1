/* SPDX-License-Identifier: Apache-2.0 */
/* What haul assess has found, as results.h5 has it: attributes of the group /assess, and its data set
 * "workloads", a row for each workload of the catalogue. The lists below make the structs and the
 * tables of their members, so that they cannot differ. Needs no HDF5. */
#ifndef HAUL_RESULTS_SCHEMA_ASSESSED_H
#define HAUL_RESULTS_SCHEMA_ASSESSED_H

#include "results-schema/member.h"

enum {
	ASSESSED_URI_BYTES = 1024,
	ASSESSED_NAME_BYTES = 64,
	ASSESSED_WORD_BYTES = 24,
	ASSESSED_SETTINGS_BYTES = 64,
	ASSESSED_WORKLOADS_MAX = 64
};

/* TEXT(member, attribute, bytes), NUMBER(member, attribute), REAL(member, attribute) */
/* clang-format off */
#define ASSESSED_LIST(TEXT, NUMBER, REAL) \
	TEXT(uri, "uri", ASSESSED_URI_BYTES) /* of the storage */ \
	TEXT(end, "end", ASSESSED_WORD_BYTES) /* found; stopped */ \
	TEXT(read_settings, "read_settings", ASSESSED_SETTINGS_BYTES) /* with which streams were read: threads=16 depth=8 engine=uring */ \
	TEXT(random_settings, "random_settings", ASSESSED_SETTINGS_BYTES) \
	NUMBER(nodes, "nodes") /* on which the figures hold */ \
	NUMBER(ranks, "ranks") \
	REAL(budget, "budget") /* seconds */ \
	REAL(space, "space") /* bytes that it may write at a time */ \
	REAL(write, "write") /* bytes per second of streams, to stable storage; nan: not measured, as all below */ \
	REAL(read, "read") \
	REAL(random, "random") /* reads of 4 KiB per second */ \
	REAL(put, "put") /* objects of 64 KiB written per second */ \
	REAL(get, "get") /* and read */ \
	REAL(create, "create") /* empty objects per second */ \
	REAL(stat, "stat") \
	REAL(remove, "remove") \
	REAL(commit, "commit") /* seconds until an object of 4 KiB is on stable storage, on average */
#define ASSESSED_WORKLOAD_LIST(TEXT, NUMBER, REAL) \
	TEXT(name, "name", ASSESSED_NAME_BYTES) /* of the ready job */ \
	TEXT(unit, "unit", ASSESSED_WORD_BYTES) /* accelerators; checkpoints/h; users */ \
	TEXT(basis, "basis", ASSESSED_WORD_BYTES) /* measured; follows: from the ceilings; unknown */ \
	TEXT(limit, "limit", ASSESSED_WORD_BYTES) /* the ceiling that is reached first: read, objects, write; loader: fewer were carried than follow; requests: so of users */ \
	REAL(carries, "carries") /* how many of the unit; nan: not known */ \
	REAL(follows, "follows") /* how many follow from the ceilings; of users whose number is unknown: at most so many */ \
	REAL(target, "target") /* AU that is to be reached; of users: seconds, for 95 of 100 requests */ \
	REAL(measured, "measured") /* the most that reached the target when it ran; nan: it did not run */ \
	REAL(step, "step") /* so many more missed it when they ran; 0: they did not run */ \
	REAL(found, "found") /* their AU; of users: seconds */ \
	REAL(bytes, "bytes_per_second") /* that one of the unit reads at the target */ \
	REAL(opens, "opens_per_second") \
	REAL(written, "written_per_second") /* that a user writes */ \
	REAL(full, "full_seconds") /* of the whole job, with its data made first; nan: not known */ \
	REAL(data, "data_bytes") /* of its data set, or of a checkpoint */
/* clang-format on */

#define ASSESSED_MEMBER_TEXT(member, attribute, bytes) char member[bytes];
#define ASSESSED_MEMBER_NUMBER(member, attribute)      uint64_t member;
#define ASSESSED_MEMBER_REAL(member, attribute)        double member;
struct assessed {
	ASSESSED_LIST(ASSESSED_MEMBER_TEXT, ASSESSED_MEMBER_NUMBER, ASSESSED_MEMBER_REAL)
};
struct assessed_workload {
	ASSESSED_WORKLOAD_LIST(ASSESSED_MEMBER_TEXT, ASSESSED_MEMBER_NUMBER, ASSESSED_MEMBER_REAL)
};

#define ASSESSED_ONE(...) +1
enum {
	ASSESSED_MEMBERS = ASSESSED_LIST(ASSESSED_ONE, ASSESSED_ONE, ASSESSED_ONE),
	ASSESSED_WORKLOAD_MEMBERS = ASSESSED_WORKLOAD_LIST(ASSESSED_ONE, ASSESSED_ONE, ASSESSED_ONE)
};
extern const struct member assessed_members[ASSESSED_MEMBERS],
	assessed_workload_members[ASSESSED_WORKLOAD_MEMBERS];

/* Nothing is known. */
void assessed_init(struct assessed *a);

#endif
