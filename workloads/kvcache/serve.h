/* Serving requests: each takes its steps one after the other, waits for the operations of a step, and at last for its tokens. */
#ifndef HAUL_WORKLOADS_KVCACHE_SERVE_H
#define HAUL_WORKLOADS_KVCACHE_SERVE_H

#include <stdbool.h>

struct kv_run;

/* Serves waiting requests as long as there is room; takes the steps of all requests that may go on. Returns whether any could. */
bool kv_serve(struct kv_run *r);
/* Ends the requests whose generations have ended. */
void kv_serve_generated(struct kv_run *r);

#endif
