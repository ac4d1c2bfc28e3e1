/* Content of a folder of a store: whether it is free for objects of haul. For the thread that owns
 * the queue, with nothing else in flight. */
#ifndef HAUL_WORKLOADS_COMMON_FOLDER_H
#define HAUL_WORKLOADS_COMMON_FOLDER_H

#include "backends/queue/queue.h"

/* The name of one entry of the folder ("": the store's root), namely the first that the store
 * returns; "" where the folder is empty or does not exist. Takes one request. Returns a negative
 * errno with a sentence where the store cannot tell. */
int folder_first(struct queue *q, const char *folder, char name[OBJECT_KEY_BYTES], struct err *err);

#endif
