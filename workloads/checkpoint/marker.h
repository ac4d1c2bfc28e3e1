/* SPDX-License-Identifier: Apache-2.0 */
/* The marker of a checkpoint, .haul-checkpoint.json in its folder: the shape, who wrote it, which
 * content it has, and whether it is whole. It is written as not whole before the first file, so
 * that haul knows what it made, and again as whole after the last file. So a checkpoint is whole,
 * or it is none.
 *
 * Plain data, any thread; load and save use the caller's queue, with nothing else in flight. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_MARKER_H
#define HAUL_WORKLOADS_CHECKPOINT_MARKER_H

#include "backends/queue/queue.h"
#include "workloads/checkpoint/files.h"

enum {
	MARKER_TEXT_MAX = 16 << 10,
	MARKER_LAYOUT =
		1 /* raised whenever the same shape would give other names, sizes or bytes */
};

struct marker {
	struct checkpoint_shape shape;
	uint64_t seed;
	uint64_t
		generation; /* of the content: another one each time that the checkpoint is written */
	uint64_t ranks;     /* of the mesh, from 0, that wrote their files */
	uint64_t version;   /* MARKER_LAYOUT of the haul that made it */
	bool whole;
};

/* "checkpoints/000003/"; and the keys of its marker, of the folder of its shards, and of a file in it. number: from 0. */
void marker_folder(const char *folder, uint64_t number, char key[OBJECT_KEY_BYTES]);
void marker_key(const char *folder, uint64_t number, char key[OBJECT_KEY_BYTES]);
void marker_shards(const char *folder, uint64_t number, char key[OBJECT_KEY_BYTES]);
void marker_file_key(const char *folder, uint64_t number, const struct checkpoint_file *f,
		     char key[OBJECT_KEY_BYTES]);

/* Removes the folder of shards where there is one, the marker, and the folder, all empty but for these. */
void marker_remove(const struct checkpoint_shape *s, struct queue *q, const char *folder,
		   uint64_t number);

/* Whether the marker describes a checkpoint of that shape. */
bool marker_shape_is(const struct marker *m, const struct checkpoint_shape *shape);

/* From and to JSON. -EINVAL with a sentence where text is not a marker. The caller frees the text;
 * NULL: no memory. */
int marker_parse(struct marker *m, const char *text, size_t length, struct err *err);
char *marker_text(const struct marker *m);

/* -ENOENT: there is none. */
int marker_load(struct marker *m, struct queue *q, const char *folder, uint64_t number,
		struct err *err);
int marker_save(const struct marker *m, struct queue *q, const char *folder, uint64_t number,
		struct err *err);

/* The key of the content of a file (fill_key). */
uint64_t marker_content(const struct marker *m, uint64_t file_number);

#endif
