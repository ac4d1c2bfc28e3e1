/* One phase of a run, from its start to its publication. Private to ranks/run. */
#ifndef HAUL_RANKS_RUN_PHASE_RUN_H
#define HAUL_RANKS_RUN_PHASE_RUN_H

#include "core/arena.h"
#include "ranks/node/watch.h"
#include "ranks/run/progress.h"
#include "ranks/run/state.h"
#include "workloads/target.h"
#include "workloads/workload.h"

/* A phase within the phase, which is published after it. */
struct phase_part {
	char kind[RECORD_NAME_BYTES], name[RECORD_NAME_BYTES], store[RECORD_NAME_BYTES];
	struct tally tally;
};

struct phase_run {
	const struct workload *workload;
	struct phase_context ctx;
	struct arena arena; /* owns the schema's copies */
	struct tally tally;
	struct progress_line line;
	struct watch watch;
	struct client_series *client;
	uint64_t started_ns; /* UTC: when the measured part began */
	uint32_t target_count, part_count;
	struct target_result targets[TARGETS_MAX];
	struct phase_part **parts; /* [part_count] */
	enum stop_reason stopped;
	int rc;
};

/* phase_context.part. */
struct tally *phase_part(struct phase_context *ctx, const char *kind, const char *name,
			 const struct tally_schema *schema, const char *store, struct err *err);
void phase_parts_free(struct phase_run *p);

/* Publishes the phase, then its parts. failure: the phase's own error. Collective. */
int phase_publish(struct run *run, const struct run_options *options, struct phase_run *p,
		  const struct err *failure, struct err *err);

#endif
