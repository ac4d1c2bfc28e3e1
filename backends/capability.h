/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities: what a store can do, one bit each. Bit, name and words come from one list, so that
 * none of them can be missing: the plan refuses a phase that needs what its store lacks, in the
 * words of the last column. */
#ifndef HAUL_BACKENDS_CAPABILITY_H
#define HAUL_BACKENDS_CAPABILITY_H

#include <stdint.h>

/* X(ID, name, "the store …" what it does, "store … " what it lacks without it) */
/* clang-format off */
#define BACKEND_CAPABILITIES(X) \
	X(CONTENT, content, \
	  "keeps what is written, so that reads give data that can be verified", \
	  "keeps no content") \
	X(RANGES, ranges, \
	  "reads any range of bytes", \
	  "cannot read byte ranges") \
	X(FIRST_BYTE, first_byte, \
	  "tells when the first byte of a read came", \
	  "cannot tell when the first byte came") \
	X(ATOMIC_COMMIT, atomic_commit, \
	  "shows a new version of an object whole or not at all", \
	  "cannot publish an object whole") \
	X(PERSISTENT, persistent, \
	  "outlives the run, so that generation resumes and what was made can be cleaned", \
	  "does not outlive the run") \
	X(MANY_NODES, many_nodes, \
	  "is one and the same store on every node", \
	  "serves one node only") \
	X(MISSING_IS_ERROR, missing_is_error, \
	  "fails stat and open of what was never written", \
	  "cannot tell that an object is missing") \
	X(DEPTH, depth, \
	  "takes more than one request in flight per queue", \
	  "works on one request at a time") \
	X(CACHED, cached, \
	  "may be answered from this client's page cache, which it can inspect and drop", \
	  "has no page cache on this client") \
	X(STREAMS, streams, \
	  "calls chunk itself for the whole of a request, with the buffer full each time but the last", \
	  "does not hand bytes over as they arrive") \
	X(RENAME, rename, \
	  "renames objects", \
	  "cannot rename") \
	X(LIST, list, \
	  "lists folders page by page", \
	  "cannot list") \
	X(UPDATE, update, \
	  "writes into objects in place", \
	  "cannot write in place") \
	X(SHARED, shared, \
	  "takes one object from many ranks: in place, or without update as a version that they share", \
	  "cannot take one object from many ranks") \
	X(DISCARD, discard, \
	  "drops what is read where it arrives, where nobody wants the bytes", \
	  "hands over all that it reads") \
	X(BATCH, batch, \
	  "deletes several keys by one request", \
	  "cannot delete several keys by one request") \
	X(LIST_PARTS, list_parts, \
	  "lists a folder in parts, side by side", \
	  "cannot list a folder in parts") \
	X(UPLOADS, uploads, \
	  "lists versions that were begun and never ended, and drops each by its id", \
	  "cannot list versions that were begun and never ended") \
	X(MAPS, maps, \
	  "maps an object, so that its bytes come by page faults", \
	  "has no files that can be mapped, as \"lazy\" and \"prefetch\" do") \
	X(WRITES, writes, \
	  "takes objects that are written, and removes them", \
	  "cannot be written")
/* clang-format on */

enum backend_capability_index {
#define CAPABILITY_INDEX(id, name, means, lacks) BACKEND_INDEX_##id,
	BACKEND_CAPABILITIES(CAPABILITY_INDEX)
#undef CAPABILITY_INDEX
		BACKEND_CAPABILITY_COUNT
};

enum backend_capability {
#define CAPABILITY_BIT(id, name, means, lacks) BACKEND_##id = 1 << BACKEND_INDEX_##id,
	BACKEND_CAPABILITIES(CAPABILITY_BIT)
#undef CAPABILITY_BIT
};

struct backend_capability_words {
	const char *name;  /* "list_parts" */
	const char *means; /* completes "the store …" */
	const char *lacks; /* of a store without it, completes "the store …" */
};

/* All of them, in the order of their bits. */
extern const struct backend_capability_words backend_capability_words[BACKEND_CAPABILITY_COUNT];

/* The words of the lowest of these bits; NULL: there is none. */
const struct backend_capability_words *backend_capability_lowest(uint32_t bits);

#endif
