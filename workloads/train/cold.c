/* SPDX-License-Identifier: Apache-2.0 */
/* Cold epochs: what an epoch will read leaves the page cache before. The time that this takes does
 * not count for the phase. */
#include "workloads/train/pass.h"

static void cold_file_key(const void *dataset, uint64_t file, uint32_t part,
			  char key[OBJECT_KEY_BYTES])
{
	dataset_object_key(dataset, file, part, key);
}

struct cold_objects pass_objects(const struct pass_input *in)
{
	return (struct cold_objects){&in->store, in->dataset.options.files, in->dataset.objects,
				     cold_file_key, &in->dataset};
}

/* Drops only the files that this rank will read, because no other file's pages can answer it. Where
 * these are more than the rank's part of all files, since a file has many samples, the ranks of the
 * node together drop all files. */
static int pass_drop_own(struct pass *p, struct err *err)
{
	const struct pass_input *in = p->inputs[p->epoch_row.source];
	struct rank_sequence *sequence = &p->sequences[p->epoch_row.source];
	const struct cold_objects files = pass_objects(in);
	uint64_t file, last = UINT64_MAX, samples, from;
	int rc = 0;

	sequence_arrivals(sequence, p->epoch_row.steps - 1, &from, &samples);
	if (samples > in->dataset.options.files / p->ctx->place->local_ranks)
		return cold_drop_all(p->cold, &files, err);
	order_epoch(&sequence->order, p->epoch_row.epoch);
	if (!pass_reads(p))
		samples = 0;
	for (uint64_t k = 0; k < samples && rc == 0 && !cold_ends(p->cold); k++) {
		file = sequence_at(sequence, k) / in->dataset.options.samples_per_file;
		if (file != last)
			rc = cold_drop_one(p->cold, &files, file, err);
		last = file;
	}
	return group_agree(p->ctx->group, rc, err);
}

int pass_cold(struct pass *p, struct err *err)
{
	const struct cold_options *o = &p->options->cold;
	struct clock *clock = p->ctx->clock;
	uint64_t began_ns, took_ns;
	int rc;

	if (o->drop == DROP_NONE || o->when != COLD_EPOCHS)
		return 0;
	began_ns = clock_now(clock);
	account_switch(&p->accounts, ACCOUNT_HAUL, began_ns);
	if (o->drop == DROP_CACHES)
		rc = cold_drop_caches(p->cold, err);
	else
		rc = pass_drop_own(p, err);
	took_ns = clock_now(clock) - began_ns;
	account_skip(&p->accounts, began_ns + took_ns);
	p->tally->rank_row[TRAIN_DROP_NS] += took_ns;
	p->tally->rank_row[TRAIN_STAYED_BYTES] = p->cold->stayed_bytes;
	if (p->limit_ns)
		p->limit_ns += took_ns;
	return rc;
}
