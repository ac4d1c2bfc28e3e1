/* What lies in a folder of a store: whether it is free for objects of haul. By the thread that owns the queue, with
 * nothing else in flight. */
#ifndef HAUL_WORKLOADS_COMMON_FOLDER_H
#define HAUL_WORKLOADS_COMMON_FOLDER_H

#include "backends/queue/queue.h"

/* The name of one entry of the folder ("": the store's root), which a store gives first; "" where the folder is empty
 * or not there. One request. A negative errno with a sentence: the store cannot tell. */
int folder_first(struct queue *q, const char *folder, char name[OBJECT_KEY_BYTES], struct err *err);

#endif
