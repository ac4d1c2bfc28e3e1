/* SPDX-License-Identifier: Apache-2.0 */
/* Results of simulations, where measurements are asked for: see cli.h. */
#include <errno.h>

#include "cli/cli.h"
#include "results-schema/results_read.h"

int cli_refuse_simulated(const char *const *paths, unsigned count, bool alike, const char *instead,
			 struct err *err)
{
	unsigned simulated = 0, last = 0;

	for (unsigned i = 0; i < count; i++) {
		struct results_file *f;
		struct err unread;

		/* The verb itself says what cannot be read. */
		if (results_open(&f, paths[i], &unread) < 0)
			continue;
		if (f->simulated) {
			simulated++;
			last = i;
		}
		results_unload(f);
	}
	if (!simulated || (alike && simulated == count))
		return 0;
	return err_set(err, -EINVAL, "%s was simulated, not measured: %s", paths[last], instead);
}
