/* The dialect of S3, which Google's XML interface speaks too. */
#ifndef HAUL_BACKENDS_HTTP_S3_H
#define HAUL_BACKENDS_HTTP_S3_H

#include "backends/http/http.h"

enum addressing { ADDRESSING_AUTO, ADDRESSING_PATH, ADDRESSING_VIRTUAL };
extern const char *const addressing_names[];

/* Chooses http->virtual_host: auto means virtual where the server is a public cloud's and the bucket's
 * name can stand in a host name that its certificate covers. */
void s3_address(struct http_store *http, enum addressing wanted);

int s3_make(struct slot *s);
int s3_read(struct slot *s);
int s3_element(void *slot, const char *path, const char *text);

/* s3_delete.c: DeleteObjects. s3_make_delete makes the request of io's keys but for path and signature; an
 * element of its answer; what became of the io when the answer is over. */
int s3_make_delete(struct slot *s, struct http_request *r);
int s3_deleted_element(struct slot *s, const char *path, const char *text);
void s3_deleted(struct slot *s);

#endif
