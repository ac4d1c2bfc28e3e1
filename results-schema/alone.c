/* SPDX-License-Identifier: Apache-2.0 */
/* Results of a run of which one process is left: see results_set_alone. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/part.h"
#include "results-schema/results_state.h"

/* Another rank than 0: what rank 0 has on its own. Its part may be half written, so this process
 * draws another name. */
static int take_over(struct results *r, struct err *err)
{
	char *part;
	int rc;

	rc = r->base_kept ? staging_take_over(&r->base, r->path) : 0;
	if (rc < 0)
		return err_set(err, rc, "what was published before the last phase is not there");
	r->draw = part_draw();
	part = staging_path(r->path, r->draw);
	if (!part)
		return err_set(err, -ENOMEM, "no memory for the results");
	/* Beside an older file, the head of this run's is in the part. */
	if (r->at_path != FILE_OWN)
		rc = staging_copy(r->part, part, err);
	unlink(r->part);
	free(r->part);
	r->part = part;
	r->writer.first = true;
	return rc;
}

int results_set_alone(struct results *r, struct group *lone, struct err *err)
{
	int rc = r->writer.first ? 0 : take_over(r, err);

	r->group = lone;
	r->watch = (struct results_watch){.step = NULL};
	/* Nobody else writes rows. */
	r->gather_bytes_max = UINT64_MAX;
	if (r->node) {
		r->node = lone;
		r->writer.row = r->writer.node;
	}
	return rc;
}

uint64_t results_next(const struct results *r)
{
	return r->next;
}
