/* SPDX-License-Identifier: Apache-2.0 */
/* Operation log of a run: each rank writes a file, or of many ranks those of a node share one, with
 * times of node 0's clock. What was dropped is reported once. */

#include "backends/op_log/op_log.h"
#include "core/part.h"
#include "ranks/run/run.h"
#include "ranks/run/state.h"

/* In larger runs the ranks of a node share a file, because thousands of files are hard to
 * handle. */
enum { RANK_FILES_MAX = 1024 };

static bool run_op_log_shared(const struct run *run, const struct run_options *options)
{
	if (options->op_log_per != OP_LOG_PER_AUTO)
		return options->op_log_per == OP_LOG_PER_NODE;
	return run->world->size > RANK_FILES_MAX;
}

int run_op_log_open(struct run *run, const struct run_options *options, struct err *err)
{
	struct op_log_options o = {
		.path = options->op_log,
		.force = options->force,
		.draw = part_draw(),
		.rank = run->world->rank,
		.ranks = run->world->size,
		.rows = options->op_log_rows ? options->op_log_rows : OP_LOG_ROWS,
	};
	bool shared = run_op_log_shared(run, options), first = run->nodes.node->rank == 0;
	uint64_t utc_ns;
	int rc;

	if (!options->op_log)
		return 0;
	/* All ranks use the same moment: wall clocks of nodes differ, their aligned clocks do
	 * not. */
	utc_ns = run->clock.utc_ns - (uint64_t)run->nodes.offset_ns;
	rc = group_broadcast(run->world, &utc_ns, sizeof(utc_ns));
	if (rc == 0)
		rc = group_broadcast(run->world, &o.draw, sizeof(o.draw));
	o.utc_ns = (int64_t)utc_ns + run->nodes.offset_ns;
	if (shared) {
		o.file = run->nodes.index;
		o.files = run->nodes.count;
		o.joins = !first;
	}
	if (rc == 0 && (first || !shared))
		rc = op_log_open(&run->op_log, &o, err);
	rc = group_agree(run->world, rc, err);
	if (rc == 0 && !first && shared)
		rc = op_log_open(&run->op_log, &o, err);
	return group_agree(run->world, rc, err);
}

void run_op_log_discard(struct run *run)
{
	if (run->op_log)
		op_log_discard(run->op_log);
	run->op_log = NULL;
}

void run_op_log_close(struct run *run, const struct run_options *options)
{
	uint64_t counts[2] = {0, 0};
	struct err failed = {0};
	int rc = 0;

	if (!options->op_log)
		return;
	if (run->op_log)
		rc = op_log_close(run->op_log, &counts[0], &counts[1], &failed);
	run->op_log = NULL;
	rc = group_agree(run->world, rc, &failed);
	group_allreduce(run->world, MERGE_SUM, counts, 2);
	/* What was measured is complete without its log. */
	if (run->world->rank == 0 && rc < 0)
		log_say(&run->log, LOG_WARNING, "the operation log is incomplete: %s", failed.text);
	else if (run->world->rank == 0 && counts[1])
		log_say(&run->log, LOG_WARNING,
			"%s: %llu of %llu operations have no row; --op-log-rows keeps more of them "
			"until they are written",
			options->op_log, (unsigned long long)counts[1],
			(unsigned long long)(counts[0] + counts[1]));
}
