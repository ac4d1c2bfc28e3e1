/* SPDX-License-Identifier: Apache-2.0 */
/* Owner of a folder of an object store: for struct backend_ops, see own.
 *
 * There are no locks of a kernel, so an object beside the folder, "FOLDER.haul-owner", stands for
 * one. It is made only where there is none (If-None-Match: *), and is a lease: a thread renews it
 * (If-Match), and another process takes it over once it has not been renewed for LEASE_S seconds by
 * the clock of the store, or at once where it is on the machine of a process that has ended. All that
 * goes over a channel of its own, so nothing of it is in any count. A store that heeds no conditions
 * is found out, and -ENOLCK. */
#ifndef HAUL_BACKENDS_HTTP_OWN_H
#define HAUL_BACKENDS_HTTP_OWN_H

#include "backends/http/slot.h"

int http_own(const struct store *store, const char *folder, struct owner *owner, struct err *err);

/* For dialects: adds the condition of the channel to a PUT. */
void own_condition(const struct slot *s, struct http_request *r);

#endif
