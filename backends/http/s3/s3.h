/* SPDX-License-Identifier: Apache-2.0 */
/* Dialect of S3, which Google's XML interface speaks, too. */
#ifndef HAUL_BACKENDS_HTTP_S3_S3_H
#define HAUL_BACKENDS_HTTP_S3_S3_H

#include "backends/http/http.h"

enum addressing { ADDRESSING_AUTO, ADDRESSING_PATH, ADDRESSING_VIRTUAL };
extern const char *const addressing_names[];

/* Chooses http->virtual_host. auto puts the bucket into the host's name where the server is a
 * public cloud's and its certificate covers that name. -EINVAL where virtual is wanted, and an
 * endpoint is an address, before which no name can stand. */
int s3_address(struct http_store *http, enum addressing wanted, struct err *err);

/* The same of endpoints that the options give, before anything is opened. path: of the store. */
int s3_check_addressing(const struct http_options *o, enum addressing wanted, const char *path,
			struct err *err);

/* request.c: struct dialect's make. */
int s3_make(struct http_slot *s);
/* Whether the upload is made for CRC-32C, part by part. */
bool s3_sums_parts(const struct http_slot *s);

/* answer.c: struct dialect's read and element. */
int s3_read(struct http_slot *s);
int s3_element(void *slot, const char *path, const char *text);

/* delete.c: DeleteObjects. Makes the request for the keys, but for path and signature; takes an
 * element of its answer; sets what became of the request when the answer is over. */
int s3_delete_make(struct http_slot *s, struct http_request *r);
int s3_delete_element(struct http_slot *s, const char *path, const char *text);
void s3_deleted(struct http_slot *s);

#endif
