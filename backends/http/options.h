/* SPDX-License-Identifier: Apache-2.0 */
/* Options of every store behind HTTP, their checks, and what follows from them alone: sizes of
 * requests, how many at once. */
#ifndef HAUL_BACKENDS_HTTP_OPTIONS_H
#define HAUL_BACKENDS_HTTP_OPTIONS_H

#include "backends/endpoint.h"
#include "backends/http/wire/sum.h"
#include "backends/retry.h"

enum { HTTP_IN_FLIGHT_MAX = 64 };
#define HTTP_TRANSFER (8 << 20)

/* Libraries that haul imitates. */
enum { CLIENT_HAUL, CLIENT_S3DLIO, CLIENT_S3TORCHCONNECTOR, CLIENT_MINIO };
extern const char *const client_names[];

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
	uint32_t client; /* CLIENT_… */
	bool head_on_open;
	uint32_t split; /* enum http_split */
	uint64_t split_from, part, put_whole, in_flight;
	bool create_bucket; /* S3's and Google's */
	uint32_t payload;   /* S3's alone, but clients differ in it */
	uint32_t checksum;  /* enum sum_kind */
};

/* For struct backend_ops: see backends/backend.h. */
uint64_t http_range(const void *options, uint64_t largest, uint32_t depth);
uint64_t http_part(const void *options, uint64_t length);
uint32_t http_in_flight(const void *options);

extern const struct option http_option_table[];

/* For the check of struct backend_ops. What the environment says can only be checked where a store
 * is opened. */
int http_check(const void *options, const char *path, struct err *err);
/* The URIs begin with count names, "account/container", as far as they are known before variables
 * and placeholders get their values. -EINVAL with a sentence. */
int http_check_root(const void *options, const char *names, int count, const char *path,
		    struct err *err);

#endif
