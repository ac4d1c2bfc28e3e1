/* SPDX-License-Identifier: Apache-2.0 */
/* Names of cache entries: see key.h. */
#include "workloads/kvcache/tiers/key.h"

#include <string.h>

#include "core/decimal.h"

/* The words of a key, and how many digits its numbers have at least. A word of NULL ends the
 * key. */
static const struct key_form {
	const char *word[3];
	char part[3]; /* 'f' first, 's' second, 'n' number: what follows the word */
	uint8_t digits[3];
} key_forms[KV_KEY_KINDS] = {
	[KV_KEY_TURN] = {{"conv_user_", "_", "_turn_"}, {'f', 'n', 's'}, {4, 1, 1}},
	[KV_KEY_REQUEST] = {{"user_", "_req_"}, {'f', 'n'}, {4, 6}},
	[KV_KEY_PROMPT] = {{"kv_system_"}, {'n'}, {1}},
	[KV_KEY_CHUNK] = {{"rag_doc_", "_chunk_"}, {'f', 's'}, {4, 1}},
	[KV_KEY_DOCUMENT] = {{"rag_doc_"}, {'f'}, {4}},
	[KV_KEY_FILL] = {{"precond_"}, {'n'}, {1}},
	[KV_KEY_STORED] = {{"prepop_"}, {'n'}, {1}},
	[KV_KEY_NAMED] = {{"name_"}, {'n'}, {1}},
};

size_t kv_key_text(char out[KV_KEY_BYTES], struct kv_id id)
{
	const struct key_form *f = &key_forms[kv_id_kind(id)];
	uint64_t first = id.high >> 24 & UINT32_MAX, second = id.high & KV_KEY_SECOND_MAX;
	char *at = out;

	for (int i = 0; i < 3 && f->word[i]; i++) {
		at = stpcpy(at, f->word[i]);
		at = decimal_put(at,
				 f->part[i] == 'f'   ? first
				 : f->part[i] == 's' ? second
						     : id.low,
				 f->digits[i]);
	}
	*at = 0;
	return (size_t)(at - out);
}
