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

#endif
