/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the parser of manifests with any bytes: they are refused with a sentence, or read and then
 * the same after writing and reading them again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/dataset/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct manifest m, again;
	struct err err = {0};
	struct dataset d;
	char *text;

	if (manifest_parse(&m, (const char *)data, size, &err) < 0) {
		if (err.text[0] == '\0')
			abort();
		return 0;
	}
	text = manifest_text(&m);
	if (!text)
		abort();
	if (manifest_parse(&again, text, strlen(text), &err) < 0)
		abort();
	if (dataset_init(&d, &m.dataset, m.seed, "manifest", &err) == 0 &&
	    m.layout == MANIFEST_LAYOUT && manifest_matches(&again, &d, "here", &err) < 0)
		abort();
	manifest_free(&again);
	manifest_free(&m);
	free(text);
	return 0;
}
