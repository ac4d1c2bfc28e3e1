/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of a rank's sequence of samples: its order, its streams, and the shuffle buffer. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit.h"
#include "workloads/train/sampler/rank_sequence.h"

static const uint32_t ranks[] = {1, 2, 3, 8, 64};
enum { RANKS = sizeof(ranks) / sizeof(ranks[0]), SAMPLES_MAX = 4096 };

static void make(struct rank_sequence *s, enum order_kind kind, uint64_t files, uint64_t per_file,
		 uint64_t batch, uint32_t n, uint32_t interleave, uint64_t window)
{
	*s = (struct rank_sequence){
		.batch = batch, .ranks = n, .interleave = interleave, .shuffle_samples = window};
	order_init(&s->order, kind, true, 11, files, per_file);
	order_epoch(&s->order, 3);
	sequence_init(s);
}

/* All ranks together read no sample twice, and every sample except for a tail. The tail is what
 * does not fill the last batch of all ranks; with streams, also the files or records that not all
 * ranks have. */
static void each_once(void)
{
	static const struct {
		uint64_t files, per_file, batch;
	} sets[] = {{1, 1, 1}, {1, 700, 3}, {17, 1, 1}, {5, 7, 2}, {64, 3, 1}, {130, 11, 5}};
	static const uint32_t interleaves[] = {0, 1, 2, 3, 4, 7, 200};
	uint8_t seen[SAMPLES_MAX];

	for (unsigned i = 0; i < 6 * RANKS * 7; i++) {
		uint64_t files = sets[i % 6].files, per_file = sets[i % 6].per_file;
		uint32_t n = ranks[i / 6 % RANKS], streams = interleaves[i / 6 / RANKS];
		uint64_t own = files * per_file / n, read = 0;
		struct rank_sequence s;

		make(&s, streams ? ORDER_FILES : ORDER_ALL, files, per_file, sets[i % 6].batch, n,
		     streams, 0);
		if (streams && files >= n)
			own = files / n * per_file;
		CU_ASSERT_EQUAL(s.samples, own - own % s.batch);
		memset(seen, 0, sizeof(seen));
		for (s.rank = 0; s.rank < n; s.rank++)
			for (uint64_t q = 0; q < s.samples; q++, read++) {
				uint64_t sample = sequence_at(&s, q);

				CU_ASSERT(!q ||
					  sequence_next(&s, q, sequence_at(&s, q - 1)) == sample);

				CU_ASSERT_FATAL(sample < s.order.samples);
				CU_ASSERT(!seen[sample]++);
			}
		CU_ASSERT_EQUAL(read, s.samples * n);
	}
}

/* To which stream q belongs. */
static uint32_t stream_of(const struct rank_sequence *s, uint64_t q)
{
	uint32_t stream = 0;

	while (sequence_stream_next(s, stream, q, q + 1) != q)
		stream++;
	return stream;
}

/* A file belongs to one rank and one stream, which reads it from its first record to its last. */
static void files_are_streams(void)
{
	enum { FILES = 23, PER_FILE = 5 };

	for (unsigned r = 0; r < RANKS; r++)
		for (uint32_t streams = 1; streams < 9; streams++) {
			uint32_t owner[FILES];
			uint64_t next[FILES] = {0};
			struct rank_sequence s;

			make(&s, ORDER_FILES, FILES, PER_FILE, 1, ranks[r], streams, 0);
			memset(owner, 0xff, sizeof(owner));
			for (s.rank = 0; s.rank < s.ranks; s.rank++)
				for (uint64_t q = 0; q < s.samples; q++) {
					uint64_t sample = sequence_at(&s, q),
						 file = sample / PER_FILE;
					uint32_t who = s.rank * 16 + stream_of(&s, q);

					CU_ASSERT(stream_of(&s, q) < streams);
					if (s.ranks > FILES) /* each rank has a part of each file */
						continue;
					CU_ASSERT(owner[file] == UINT32_MAX || owner[file] == who);
					CU_ASSERT_EQUAL(sample % PER_FILE, next[file]);
					owner[file] = who;
					next[file]++;
				}
		}
}

/* Four files in two streams, then the last file alone; determined by hand. */
static void known_interleave(void)
{
	static const uint64_t two[] = {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11, 12, 13, 14};
	/* Two files on three ranks: of the records 0 3 1 and 4 2 5, each rank gets one, then the
	 * next in turn. */
	static const uint64_t thirds[] = {0, 2, 3, 5, 1, 4};
	struct rank_sequence s;

	make(&s, ORDER_AS_IS, 5, 3, 1, 1, 2, 0);
	for (unsigned q = 0; q < 15; q++)
		CU_ASSERT_EQUAL(sequence_at(&s, q), two[q]);
	make(&s, ORDER_AS_IS, 2, 3, 1, 3, 2, 0);
	CU_ASSERT_EQUAL(s.samples, 2);
	for (unsigned q = 0; q < 6; q++) {
		s.rank = q / 2;
		CU_ASSERT_EQUAL(sequence_at(&s, q % 2), thirds[q]);
	}
}

static void next_of_a_stream(void)
{
	for (unsigned r = 0; r < RANKS; r++)
		for (uint32_t streams = 1; streams < 6; streams++) {
			struct rank_sequence s;

			make(&s, ORDER_FILES, 13, 7, 1, ranks[r], streams, 0);
			s.rank = s.ranks / 2;
			for (uint32_t stream = 0; stream < streams; stream++)
				for (uint64_t q = 0; q < s.samples; q++) {
					uint64_t wanted = q;

					while (wanted < s.samples &&
					       stream_of(&s, wanted) != stream)
						wanted++;
					CU_ASSERT_EQUAL(
						sequence_stream_next(&s, stream, q, s.samples),
						wanted);
				}
		}
}

/* The arrivals of consecutive batches are all samples, and early enough: the shuffle buffer is full
 * when the first sample leaves it. */
static void arrivals(void)
{
	static const uint64_t windows[] = {0, 1, 2, 9, 100, 5000};

	for (unsigned i = 0; i < 6; i++) {
		uint64_t end = 0, from, to;
		struct rank_sequence s;

		make(&s, ORDER_FILES, 10, 12, 7, 1, 0, windows[i]);
		for (uint64_t k = 0; k < s.samples / s.batch; k++) {
			uint64_t least = (k + 1) * s.batch + (windows[i] ? windows[i] - 1 : 0);

			sequence_arrivals(&s, k, &from, &to);
			CU_ASSERT_EQUAL(from, end);
			CU_ASSERT_EQUAL(to, least < s.samples ? least : s.samples);
			end = to;
		}
		CU_ASSERT_EQUAL(end, s.samples);
	}
}

/* Sends n samples through the buffer; out[p] is the sample that leaves at position p. */
static void shuffle(uint64_t key, uint64_t size, uint64_t n, uint64_t *out)
{
	struct brought_sample *in = calloc(size, sizeof(*in)), next = {0};
	struct shuffle_buffer w;

	shuffle_buffer_begin(&w, in, size, key, n);
	for (uint64_t q = 0; q < w.came; q++)
		in[q].id = q;
	for (uint64_t p = 0; p < n; p++) {
		next.id = w.came;
		out[p] = shuffle_buffer_take(&w, shuffle_buffer_more(&w) ? &next : NULL).id;
	}
	CU_ASSERT_EQUAL(w.count, 0);
	free(in);
}

static void shuffle_bounds(void)
{
	static const uint64_t sizes[] = {1, 2, 3, 17, 999, 1000, 1001, 4000};
	uint64_t out[1000];
	uint8_t seen[1000];

	for (unsigned i = 0; i < 8; i++)
		for (uint64_t n = 1; n <= 1000; n += 333) {
			memset(seen, 0, sizeof(seen));
			shuffle(5, sizes[i], n, out);
			for (uint64_t p = 0; p < n; p++) {
				CU_ASSERT_FATAL(out[p] < n);
				CU_ASSERT(!seen[out[p]]++);
				CU_ASSERT(out[p] < p + sizes[i]); /* it entered before it left */
			}
		}
	shuffle(5, 1, 1000, out);
	for (uint64_t p = 0; p < 1000; p++)
		CU_ASSERT_EQUAL(out[p], p);
}

/* Each sample in the buffer is drawn with equal probability, so a sample waits for SIZE outputs on
 * average. In a buffer of all samples, each order is equally likely: the 3! orders of three samples
 * occur 1,000 times each. */
static void shuffle_is_even(void)
{
	enum { N = 20000, SIZE = 50, DRAWS = 6000 };
	unsigned orders[27] = {0};
	uint64_t *out = malloc(N * sizeof(*out)), three[3], early = 0;
	double waited = 0;

	shuffle(9, SIZE, N, out);
	for (uint64_t p = 0; p < N; p++) {
		waited += (double)(p + SIZE) - (double)out[p];
		early += out[p] == p + SIZE - 1; /* it has only just entered */
	}
	CU_ASSERT_DOUBLE_EQUAL(waited / N, SIZE, 2);
	CU_ASSERT_DOUBLE_EQUAL((double)early, N / SIZE, 80); /* 4 sigma */
	for (uint64_t key = 0; key < DRAWS; key++) {
		shuffle(key, 3, 3, three);
		orders[three[0] * 9 + three[1] * 3 + three[2]]++;
	}
	for (unsigned i = 0; i < 27; i++)
		if (orders[i])
			CU_ASSERT_DOUBLE_EQUAL(orders[i], DRAWS / 6.0, 130);
	free(out);
}

static void shuffles_differ(void)
{
	uint64_t a[200], b[200];

	shuffle(1, 20, 200, a);
	shuffle(1, 20, 200, b);
	CU_ASSERT_EQUAL(memcmp(a, b, sizeof(a)), 0);
	shuffle(2, 20, 200, b);
	CU_ASSERT_NOT_EQUAL(memcmp(a, b, sizeof(a)), 0);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"each sample once", each_once},
		{"files are streams", files_are_streams},
		{"a known interleave", known_interleave},
		{"the next sample of a stream", next_of_a_stream},
		{"arrivals for a batch", arrivals},
		{"bounds of the shuffle buffer", shuffle_bounds},
		{"the shuffle buffer draws evenly", shuffle_is_even},
		{"keys give different orders", shuffles_differ},
		CU_TEST_INFO_NULL,
	};

	return unit_main("share", tests);
}
