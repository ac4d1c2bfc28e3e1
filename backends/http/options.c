#include "backends/http/options.h"

enum { SPLIT_ADAPTIVE_MIN = 1 << 20 };

static uint64_t http_transfer(const struct http_options *o)
{
	return o->common.transfer ? o->common.transfer : HTTP_TRANSFER;
}

uint64_t http_range(const void *options, uint64_t largest, uint32_t depth)
{
	const struct http_options *o = options;
	uint64_t bytes = http_transfer(o), share;

	if (o->split == SPLIT_OFF || largest < o->split_from)
		return UINT64_MAX;
	if (o->split == SPLIT_SIZE)
		return bytes;
	share = largest ? (largest - 1) / depth : 0;
	if (share >= bytes)
		return bytes;
	share = (share / SPLIT_ADAPTIVE_MIN + 1) * SPLIT_ADAPTIVE_MIN;
	return share < bytes ? share : bytes;
}

uint64_t http_part(const void *options, uint64_t length)
{
	const struct http_options *o = options;
	uint64_t part = o->part ? o->part : http_transfer(o);

	return length && length <= o->put_whole ? length : part;
}

uint32_t http_in_flight(const void *options)
{
	const struct http_options *o = options;

	return (uint32_t)o->in_flight;
}
