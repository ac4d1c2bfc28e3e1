#include "workloads/io/measures.h"

static void io_measure_thread(struct tally *t, const struct io_thread *thread, uint64_t first_ns)
{
	const struct io_options *o = thread->work->options;
	uint64_t first = io_series_until(&thread->series, first_ns), *row = t->rank_row;
	uint64_t first_bytes = io_moves(o) ? first * o->block : 0;

	if (!thread->warm)
		return; /* ended within its warm-up */
	if (thread->moved)
		first_bytes = io_series_until(thread->moved, first_ns);
	row[IO_DONE] += thread->done;
	row[IO_FIRST_DONE] += first;
	row[IO_DONE_BYTES] += thread->done_bytes;
	row[IO_FIRST_DONE_BYTES] +=
		first_bytes < thread->done_bytes ? first_bytes : thread->done_bytes;
	if (thread->end_ns > row[IO_LAST_DONE_NS])
		row[IO_LAST_DONE_NS] = thread->end_ns;
	if (thread->late_start_ns > row[IO_LATE_START_NS])
		row[IO_LATE_START_NS] = thread->late_start_ns;
}

void io_measure(const struct crew *crew, const struct io_work *work, uint64_t first_ns,
		struct tally *t)
{
	uint64_t *row = t->rank_row;

	row[IO_FIRST_DONE_NS] = first_ns;
	for (uint32_t i = 0; i < crew->threads; i++) {
		const struct io_thread *thread = &work->threads[i];

		io_measure_thread(t, thread, first_ns);
		row[IO_PAYLOAD_ERRORS] += thread->payload_errors;
		row[IO_WARMUP_OPERATIONS] += thread->warmup_operations;
		row[IO_GETS] += thread->gets;
		row[IO_PUTS] += thread->puts;
		row[IO_ENTRIES] += thread->entries;
		row[IO_ABSENT] += thread->absent;
		row[IO_FILL_NS] += thread->fill_ns;
		row[IO_VERIFY_NS] += thread->verify_ns;
		row[IO_RESIDENT_SAMPLED_BYTES] += thread->residency.sampled_bytes;
		row[IO_RESIDENT_BYTES] += thread->residency.resident_bytes;
	}
	crew_merge(crew, t);
}
