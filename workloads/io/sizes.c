/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/io/io.h"

#include <errno.h>

#include "core/content/random.h"

static const uint64_t sizes_stream = 0x73697a6573; /* "sizes" */

const struct option io_size_options[] = {
	OPT_BYTES("size", struct io_size_option, size, .required = true, .min = 1,
		  .max = 1ull << 50,
		  .help = "bytes of an object; with stdev, on average; with to, the smallest"),
	OPT_REAL(
		"share", struct io_size_option, share, .def_real = 1, .min_real = 0,
		.max_real = 1e9,
		.help = "share of the objects that have this size, in proportion to the other shares"),
	OPT_BYTES("to", struct io_size_option, to, .def = 0, .max = 1ull << 50,
		  .help = "sizes are drawn evenly from size to this one; 0: they are not"),
	OPT_BYTES(
		"stdev", struct io_size_option, stdev, .def = 0, .max = 1ull << 50,
		.help = "sizes are drawn log-normally, with this standard deviation; 0: they are not"),
	OPT_END,
};

int io_sizes_check(const struct io_size_option *list, uint32_t count, const char *where,
		   struct err *err)
{
	double total = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct io_size_option *o = &list[i];

		if (o->to && o->stdev)
			return err_set(
				err, -EINVAL,
				"%s/%u/stdev: \"to\" draws sizes evenly; leave one of them out",
				where, i);
		if (o->to && o->to < o->size)
			return err_set(err, -EINVAL, "%s/%u/to: must not be less than size", where,
				       i);
		total += o->share;
	}
	if (count && !(total > 0))
		return err_set(err, -EINVAL, "%s/0/share: all shares are 0", where);
	return 0;
}

static struct size_draw io_size_draw(const struct io_size_option *o)
{
	double size = (double)o->size, to = (double)o->to;

	if (o->stdev)
		return size_log_normal(size, (double)o->stdev);
	return o->to ? size_uniform((size + to) / 2, (to - size) / 2) : size_fixed(size);
}

void io_sizes_init(struct io_sizes *s, const struct io_size_option *list, uint32_t count,
		   uint64_t fixed, uint64_t objects, uint64_t seed)
{
	double total = 0, sum = 0;

	*s = (struct io_sizes){.fixed = fixed, .count = count};
	for (uint32_t i = 0; i < count; i++)
		total += list[i].share;
	for (uint32_t i = 0; i < count; i++) {
		sum += list[i].share;
		s->part[i].until = sum < total ? (uint64_t)(sum / total * 0x1p64) : UINT64_MAX;
		s->part[i].draw = io_size_draw(&list[i]);
	}
	if (count)
		permutation_init(&s->order, objects, random_at(seed, sizes_stream, 0));
}

/* The size at that fraction of 2^64 of the whole list: the entry whose share it falls into, and
 * where in it. */
static uint64_t io_sizes_fraction(const struct io_sizes *s, uint64_t at)
{
	uint64_t from = 0;
	uint32_t i = 0;

	while (i + 1 < s->count && at >= s->part[i].until)
		from = s->part[i++].until;
	at = (uint64_t)(((unsigned __int128)(at - from) << 64) /
			((unsigned __int128)s->part[i].until - from + 1));
	return size_draw_at(&s->part[i].draw, at);
}

uint64_t io_sizes_at(const struct io_sizes *s, uint64_t i)
{
	if (!s->count)
		return s->fixed;
	return io_sizes_fraction(s, size_stratum(permutation_at(&s->order, i), s->order.n));
}

/* The last stratum that falls into the share that ends there. */
static uint64_t io_sizes_last(const struct io_sizes *s, uint64_t until)
{
	uint64_t n = s->order.n;
	uint64_t i = (uint64_t)(((unsigned __int128)until * n) >> 64);

	i = i < n ? i : n - 1;
	while (i && size_stratum(i, n) >= until)
		i--;
	return size_stratum(i, n);
}

uint64_t io_sizes_largest(const struct io_sizes *s)
{
	uint64_t largest = s->count ? 0 : s->fixed;

	for (uint32_t i = 0; i < s->count; i++) {
		uint64_t size = io_sizes_fraction(s, io_sizes_last(s, s->part[i].until));

		largest = size > largest ? size : largest;
	}
	return largest;
}

double io_sizes_mean(const struct io_size_option *list, uint32_t count, uint64_t fixed)
{
	double total = 0, sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		total += list[i].share;
		sum += list[i].share * (list[i].to ? ((double)list[i].size + (double)list[i].to) / 2
						   : (double)list[i].size);
	}
	return count ? sum / total : (double)fixed;
}
