/* SPDX-License-Identifier: Apache-2.0 */
/* Table of verbs: see cli.h. */
#include <string.h>

#include "cli/cli.h"

static const struct verb *const verbs[] = {
	&plan_verb,     &simulate_verb, &assess_verb,   &run_verb,    &replay_verb,
	&generate_verb, &clean_verb,    &catalog_verb,  &import_verb, &ls_verb,
	&report_verb,   &compare_verb,  &accept_verb,   &check_verb,  &validate_verb,
	&export_verb,   &show_verb,     &schema_verb,   &topo_verb,   &doctor_verb,
	&version_verb,  &help_verb,     &complete_verb, &parse_verb,  NULL,
};

const struct verb *const *verb_table(void)
{
	return verbs;
}

const struct verb *verb_find(const char *name)
{
	unsigned i;

	for (i = 0; verbs[i]; i++)
		if (strcmp(verbs[i]->name, name) == 0)
			return verbs[i];
	return NULL;
}
