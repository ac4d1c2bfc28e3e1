/* Options of every store behind HTTP, and what follows from them alone: sizes of requests, how many at once. */
#ifndef HAUL_BACKENDS_HTTP_OPTIONS_H
#define HAUL_BACKENDS_HTTP_OPTIONS_H

#include "backends/endpoint.h"
#include "backends/http/wire/sum.h"
#include "backends/retry.h"

enum { HTTP_IN_FLIGHT_MAX = 64 };
#define HTTP_TRANSFER (8 << 20)

enum http_transport { TRANSPORT_NATIVE, TRANSPORT_CURL };
enum http_split { SPLIT_SIZE, SPLIT_ADAPTIVE, SPLIT_OFF };

/* A store's own struct begins with this one. */
struct http_options {
	struct store_options common;
	struct texts endpoints, interfaces;
	struct endpoint_options balance;
	struct retry_options retry;
	uint32_t transport; /* enum http_transport */
	bool insecure;
	char ca[512];
	uint64_t connect_ns, first_byte_ns, stall_ns, least_rate;
	uint32_t client; /* enum in profile.h */
	bool head_on_open;
	uint32_t split; /* enum http_split */
	uint64_t split_from, part, put_whole, in_flight;
	uint32_t payload;  /* S3's alone, but clients differ in it */
	uint32_t checksum; /* enum sum_kind */
};

/* For struct backend_ops: see backends/backend.h. */
uint64_t http_range(const void *options, uint64_t largest, uint32_t depth);
uint64_t http_part(const void *options, uint64_t length);
uint32_t http_in_flight(const void *options);

#endif
