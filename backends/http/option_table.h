/* Table of the options of every store behind HTTP, and what of them no table can refuse. */
#ifndef HAUL_BACKENDS_HTTP_OPTION_TABLE_H
#define HAUL_BACKENDS_HTTP_OPTION_TABLE_H

#include "backends/http/options.h"

extern const struct option http_option_table[];

/* For the check of struct backend_ops. What the environment says can only be checked where a store is opened. */
int http_check(const void *options, const char *path, struct err *err);
/* The URIs begin with count names, "account/container", as far as they are known before variables and placeholders get
 * their values. -EINVAL with a sentence. */
int http_check_root(const void *options, const char *names, int count, const char *path,
		    struct err *err);

#endif
