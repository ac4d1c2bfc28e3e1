/* Sentences about targets, except AU's, which is part of what a training reports. */
#include <math.h>
#include <string.h>

#include "report/text/page.h"
#include "report/text/table.h"

void text_targets(const struct page *page)
{
	const struct results_file *f = page->file;
	char sentence[512], of[256];

	for (uint32_t i = 0; i < f->phase_count; i++) {
		const struct results_phase_read *p = &f->phases[i];
		bool has_au = !isnan(results_role_value(&p->merged, 0, ROLE_UTILISATION));

		for (uint32_t k = 0; k < p->target_count; k++) {
			const struct target_result *t = &p->targets[k];

			if (has_au && strcmp(t->name, "target_au") == 0)
				continue;
			target_sentence(of, sizeof(of), t, "");
			snprintf(sentence, sizeof(sentence), "%s: %s.", p->record.name, of);
			text_wrap(page->out, sentence, 0, 2);
		}
	}
}
