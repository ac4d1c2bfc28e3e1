/* SPDX-License-Identifier: Apache-2.0 */
/* A run of MLPerf's key-value cache benchmark while it is imported: the tree of its flags and keys,
 * and the phase that they become. Owned by import_kvcache. */
#ifndef HAUL_IMPORT_KVCACHE_KVC_H
#define HAUL_IMPORT_KVCACHE_KVC_H

#include <stdbool.h>

#include "import/import.h"

struct cJSON;

struct kvc {
	struct import *out;
	struct cJSON *tree;
	struct cJSON *phase; /* within out->job */
	struct err *err;
};

/* The value at a path of the tree ("rag.top_k_chunks"), or NULL. */
const struct cJSON *kvc_at(const struct kvc *k, const char *path);
double kvc_number(const struct kvc *k, const char *path, double otherwise);
const char *kvc_text(const struct kvc *k, const char *path, const char *otherwise);
bool kvc_true(const struct kvc *k, const char *path);

/* Sets an option of the phase ("rag.documents"). Takes value over; NULL: there was no memory for
 * it. */
void kvc_put(struct kvc *k, const char *to, struct cJSON *value);
void kvc_put_text(struct kvc *k, const char *to, const char *value);
void kvc_put_number(struct kvc *k, const char *to, double value);
/* Adds a member to an object. */
void kvc_add_number(struct kvc *k, struct cJSON *object, const char *name, double value);
void kvc_add_text(struct kvc *k, struct cJSON *object, const char *name, const char *value);

/* A finding about a key of the tree. */
void kvc_found(struct kvc *k, enum import_fate fate, const char *path, const char *why);

/* Parts of the phase that no table of keys can map: several keys become one part, or defaults of
 * the original matter. */

void kvc_add_cluster(struct kvc *k, struct cJSON *job);
void kvc_add_tiers(struct kvc *k);
void kvc_add_users(struct kvc *k);
/* Before kvc_add_retrieval, whose defaults depend on the model. */
void kvc_add_model(struct kvc *k);
void kvc_add_retrieval(struct kvc *k);
void kvc_add_modes(struct kvc *k);
void kvc_add_autoscaling(struct kvc *k);

#endif
