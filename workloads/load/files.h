/* Files of a model: their names, from model.safetensors.index.json in the model's folder or, where there is no index, all
 * *.safetensors of the folder, sorted. Belongs to the main thread; read-only after load_names_find. */
#ifndef HAUL_WORKLOADS_LOAD_FILES_H
#define HAUL_WORKLOADS_LOAD_FILES_H

#include "backends/queue/queue.h"
#include "core/group/group.h"

struct load_names {
	uint64_t count;
	const char **names; /* [count], in text */
	char *text;
};

/* Rank 0 finds them and broadcasts them; q is its queue. What the index or the store says is not trusted: no name leads
 * out of the folder or is too long. Collective. Call load_names_free also after an error. */
int load_names_find(struct load_names *out, struct queue *q, const char *folder,
		    struct group *group, struct err *err);
void load_names_free(struct load_names *n);

/* The key of file i. */
void load_names_key(const struct load_names *n, const char *folder, uint64_t i,
		    char key[OBJECT_KEY_BYTES]);

#endif
