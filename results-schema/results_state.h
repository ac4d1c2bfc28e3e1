/* SPDX-License-Identifier: Apache-2.0 */
/* State of a results file while it is written. Private to create.c, publish.c and append.c. */
#ifndef HAUL_RESULTS_SCHEMA_RESULTS_STATE_H
#define HAUL_RESULTS_SCHEMA_RESULTS_STATE_H

#include "core/owner.h"
#include "results-schema/blocks.h"
#include "results-schema/results.h"
#include "results-schema/side_files.h"
#include "results-schema/staging.h"

struct results {
	struct group *group;
	struct group
		*node; /* the ranks of this node, where histograms have a row a node; else NULL */
	const void *comm; /* the caller's MPI_Comm, for append.c */
	char *path, *part;
	uint32_t draw; /* of the names of parts, the same on all ranks */
	/* Rank 0: no other run writes this results file. Not had where the file system has no
	 * locks. */
	struct owner owner;
	struct owner_file lock; /* that of rank 0, on all ranks */
	/* Rank 0: what was published before the phase that runs; NULL members: no such phase is
	 * published. */
	struct staging_base base, side_base;
	/* Rank 0: what path holds. While an older file is there, part holds the head of this
	 * run's. */
	enum { FILE_ABSENT, FILE_OLDER, FILE_OWN } at_path;
	/* Rank 0: the file as published last, kept open: somebody may remove it in mid-run, and the
	 * next publication then brings it back; -1: none. */
	int published_fd;
	/* Rank 0: what the last two publications that came as far as their file's name put there: one
	 * of them is in place, the other was replaced by it or is about to replace it. */
	struct results_named {
		uint64_t inode, requests;
	} named[2];
	uint64_t next;  /* phases up to this number are in the file, for good */
	bool base_kept; /* a phase that still runs is in the file */
	bool simulated;
	char key[SERIES_KEY_BYTES]; /* of the side files; "": few phases, all in one file */
	/* Rank 0: the side file that the last phase went into, from 1, and the run of that
	 * phase. */
	uint32_t side_number, side_run;
	char older_key
		[SERIES_KEY_BYTES]; /* rank 0: of the series that this one replaces; "": none */
	enum results_join join;     /* whether results_finish joins the side files */
	struct results_watch watch;
	struct phase_writer writer;
	uint32_t client_nodes_max;
	uint64_t gather_bytes_max;
	uint64_t started_utc_ns, started_ns; /* the same moment on both clocks */
	double before_s;                     /* of an interrupted series that goes on, until then */
	double simulated_seconds;            /* of the phases published so far */
	uint32_t *rank_nodes;                /* [ranks] of a simulation: the node of each */
	struct rank_row *ranks;              /* rank 0: for results_finish, NULL: as they are */
	struct store_facts *stores; /* rank 0: for the next publication, NULL: as they are */
	uint32_t store_rows, answer_runs;
	struct answered answer; /* rank 0: for the next publication; none: nothing is new */
	const struct own_times
		*own; /* rank 0: of the run, read at each publication; NULL: not measured */
};

/* Rank 0: removes the side files of the series that this one has replaced. */
void results_remove_older(struct results *r);

/* Rank 0: the file at path becomes that of this run, with what is kept of it. */
int results_resume(struct results *r, const struct results_kept *kept, struct err *err);

/* Rank 0: the file at path is this run's. */
void results_published(struct results *r);

/* Rank 0: no phase runs any more that was published. */
static inline void results_forget_base(struct results *r)
{
	staging_forget(&r->base);
	staging_forget(&r->side_base);
}

#endif
