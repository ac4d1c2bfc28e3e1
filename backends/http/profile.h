/* Client profiles: what known libraries do on the wire by default, as the options that make haul do the same. */
#ifndef HAUL_BACKENDS_HTTP_PROFILE_H
#define HAUL_BACKENDS_HTTP_PROFILE_H

#include "backends/http/options.h"

enum { CLIENT_HAUL, CLIENT_S3DLIO, CLIENT_S3TORCHCONNECTOR, CLIENT_MINIO };
extern const char *const client_names[];

/* Sets the defaults of the options at into (struct http_options) to those of their client. */
void client_preset(void *into);
/* -EINVAL: the client does not know the scheme. */
int client_check(const struct http_options *o, const char *path, struct err *err);

#endif
