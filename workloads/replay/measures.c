/* SPDX-License-Identifier: Apache-2.0 */
/* From the threads of a phase "replay" to its tally. */
#include <errno.h>
#include <stdio.h>

#include "core/numbers.h"
#include "workloads/replay/work.h"

enum { TIER_NAME_BYTES = 16 };

static const struct meter_map maps[] = {
	{REQ_READ, METER_NONE, REPLAY_HIST_READ_REQUEST, METER_NONE, METER_NONE},
	{REQ_WRITE, METER_NONE, REPLAY_HIST_WRITE_REQUEST, METER_NONE, METER_NONE},
	{REQ_OPEN, REPLAY_OPENS, REPLAY_HIST_OPEN, METER_NONE, METER_NONE},
	{REQ_CLOSE, METER_NONE, REPLAY_HIST_CLOSE, METER_NONE, METER_NONE},
	{REQ_COMMIT, METER_NONE, REPLAY_HIST_CLOSE, METER_NONE, METER_NONE},
};
static const int own[] = {REPLAY_HIST_READ, REPLAY_HIST_WRITE, REPLAY_HIST_DELETE};

const struct meter_layout replay_meter = {
	METER_MAPS(replay_schema, maps),
	.late = REPLAY_LATE,
	.short_transfers = REPLAY_SHORT_TRANSFERS,
	.sync = REPLAY_HIST_SYNC,
	.publish = REPLAY_HIST_PUBLISH,
	.own = own,
	.own_count = COUNT(own),
	.counts_operations = true,
	.live_op = REQ_READ,
};

/* As in the trace: "Tier-2". NULL: there is no memory for a new row. */
static uint64_t *measure_tier(struct tally *t, uint32_t tier)
{
	char name[TIER_NAME_BYTES];

	snprintf(name, sizeof(name), "Tier-%u", tier);
	return table_named(&t->tables[REPLAY_TABLE_TIERS], name);
}

int replay_measure_begin(const struct replay_work *work, struct tally *t, struct err *err)
{
	uint32_t tiers = 0;

	for (uint32_t i = 0; i < work->rows->names.count; i++)
		tiers |= work->rows->keys[i].tiers;
	for (uint32_t k = 0; k < TRACE_TIERS; k++)
		if ((tiers >> k & 1) && !measure_tier(t, k))
			return err_set(err, -ENOMEM, "no memory for results");
	return 0;
}

static void measure_thread_tiers(const struct replay_thread *thread, struct tally *t)
{
	for (uint32_t k = 0; k < TRACE_TIERS; k++) {
		const uint64_t *count = thread->tiers[k].count, *bytes = thread->tiers[k].bytes;
		uint64_t *row;

		t->rank_row[REPLAY_OBJECT_READS] += count[TRACE_READ];
		t->rank_row[REPLAY_OBJECT_WRITES] += count[TRACE_WRITE];
		t->rank_row[REPLAY_OBJECT_DELETES] += count[TRACE_DELETE];
		if (!count[TRACE_READ] && !count[TRACE_WRITE] && !count[TRACE_DELETE])
			continue;
		row = measure_tier(t, k);
		if (!row)
			continue;
		row[REPLAY_TIER_READS] += count[TRACE_READ];
		row[REPLAY_TIER_READ_BYTES] += bytes[TRACE_READ];
		row[REPLAY_TIER_WRITES] += count[TRACE_WRITE];
		row[REPLAY_TIER_WRITTEN_BYTES] += bytes[TRACE_WRITE];
		row[REPLAY_TIER_DELETED] += count[TRACE_DELETE];
		row[REPLAY_TIER_DELETED_BYTES] += bytes[TRACE_DELETE];
	}
}

void replay_count_thread(const struct crew_thread *w, struct tally *t)
{
	const struct replay_thread *thread = w->slots ? w->slots->owner : NULL;
	uint64_t *row = t->rank_row;

	if (!thread)
		return;
	measure_thread_tiers(thread, t);
	row[REPLAY_REQUESTS] += thread->done;
	row[REPLAY_LEFT] += thread->list->count - thread->next + thread->dropped;
	row[REPLAY_WAITED] += thread->waited;
	row[REPLAY_PAYLOAD_ERRORS] += thread->payload_errors;
	row[REPLAY_LATE_START_NS] = max_u64(row[REPLAY_LATE_START_NS], thread->slots.late_start_ns);
	for (uint32_t i = 0; i < thread->slots.depth; i++) {
		const struct replay_slot *slot = slots_at(&thread->slots, i);

		row[REPLAY_FILL_NS] += slot->content.fill_ns;
		row[REPLAY_VERIFY_NS] += slot->content.verify_ns;
	}
}

void replay_measure_time(void *work, struct tally *t)
{
	const struct replay_work *w = work;
	uint64_t now_ns = clock_now(w->store->clock);

	t->rank_row[TALLY_WALL_NS] = now_ns > w->start_ns ? now_ns - w->start_ns : 0;
}
