/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the phase that no table of keys can map: several keys become one part, or defaults of
 * the original matter. */
#ifndef HAUL_IMPORT_KVCACHE_PARTS_H
#define HAUL_IMPORT_KVCACHE_PARTS_H

#include "import/kvcache/kvc.h"

void kvc_add_cluster(struct kvc *k, struct cJSON *job);
void kvc_add_tiers(struct kvc *k);
void kvc_add_users(struct kvc *k);
/* Before kvc_add_retrieval, whose defaults depend on the model. */
void kvc_add_model(struct kvc *k);
void kvc_add_retrieval(struct kvc *k);
void kvc_add_modes(struct kvc *k);
void kvc_add_autoscaling(struct kvc *k);

#endif
