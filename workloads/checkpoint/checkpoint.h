/* The phase "checkpoint": writes and reads checkpoints of a model, at the size and in the shape that a training has.
 *
 *	phase.c    the workload: opens, runs, agrees on the outcome
 *	options.c  the table of options, refusals; size.c: what a phase asks of the machine, its stores; tell.c: what a
 *	           plan shows of it
 *	files.c    names, tensors and writers of files; ranges.c: what a rank of another mesh reads of them
 *	write.c    a checkpoint written: threads that share a file, the marker last
 *	read.c     a checkpoint read: whole files, or ranges for a mesh of its own
 *	marker.c   .haul-checkpoint.json, by which a checkpoint is whole; clean.c: removal by it
 *	columns.c  measures, histograms, figures
 *
 * A run may have fewer ranks than the mesh: rank r then stands for rank r of the mesh, and the others write nothing. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_CHECKPOINT_H
#define HAUL_WORKLOADS_CHECKPOINT_CHECKPOINT_H

#include "workloads/checkpoint/files.h"
#include "workloads/common/cold.h"
#include "workloads/common/options.h"
#include "workloads/workload.h"

enum checkpoint_operation { CHECKPOINT_WRITE, CHECKPOINT_READ, CHECKPOINT_BOTH };
enum checkpoint_behind { CHECKPOINT_BEHIND_NONE, CHECKPOINT_BEHIND_DROP };
enum { CHECKPOINT_FOLDER_BYTES = 128 };

struct checkpoint_options {
	char folder[CHECKPOINT_FOLDER_BYTES];
	uint32_t operation; /* both: all are written, then all are read */
	uint64_t count;     /* checkpoints written, and read */
	uint64_t pause_ns;  /* between two checkpoints, counted nowhere */
	uint64_t keep;      /* the last so many stay; 0: all */
	struct model model;
	struct mesh mesh;
	uint32_t layout, framing;
	/* The streaming ring of a rank: so many bytes in all, in chunks. */
	uint64_t buffers, chunk;
	uint64_t writers, fillers; /* threads of a rank */
	uint64_t readers; /* threads of a rank that read side by side, in pieces of chunk */
	uint32_t behind;
	struct mesh read_mesh; /* of the readers; all 0: as written */
	uint32_t replicas;
	uint32_t shift, verify, on_error;
	struct cold_options cold;
};
extern const struct option checkpoint_options_table[];
extern const struct workload checkpoint_workload;

/* The shape that the options ask for on this cluster, complete. store: tells the part of a shared file. */
void checkpoint_shape(const struct job *job, const struct checkpoint_options *o, uint32_t ranks,
		      const struct job_store *store, struct checkpoint_shape *out);
/* The mesh of those who read it. */
void checkpoint_reader_mesh(const struct checkpoint_options *o, const struct checkpoint_shape *s,
			    uint32_t ranks, struct mesh *out);
/* Whether readers ask for ranges, because they have a mesh of their own, or share the weights of a data rank. Otherwise
 * each reads the whole files that one rank wrote. */
bool checkpoint_reads_ranges(const struct checkpoint_options *o, const struct mesh *writers);
/* The store of the phase. -EINVAL with the phase's path. */
int checkpoint_store(const struct job *job, const struct job_phase *phase,
		     const struct job_store **store, struct err *err);

/* Hooks of the workload. */
int checkpoint_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		     struct err *err);
int checkpoint_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		    uint32_t ranks_per_node, struct demand *out, struct err *err);
int checkpoint_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		      struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);
int checkpoint_tell(const struct job *job, const struct job_phase *phase,
		    const struct rank_place *places, uint32_t ranks, struct arena *arena,
		    struct plan_told *out, struct err *err);

#endif
