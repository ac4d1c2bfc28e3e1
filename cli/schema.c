/* The verb "schema": the JSON Schema of jobs, and their reference as text. */
#include <stddef.h>

#include "cli/cli.h"
#include "plan/plan.h"

struct schema_args {
	bool reference;
};

static const struct verb_option schema_options[] = {
	{.name = "reference",
	 .kind = VERB_FLAG,
	 .offset = offsetof(struct schema_args, reference),
	 .help = "prints text for people: every key, its bounds, its default"},
	{.name = NULL},
};

static int schema_run(const struct call *call)
{
	const struct schema_args *args = call->options;

	return cli_print(args->reference ? job_reference(plan_schema())
					 : job_json_schema(plan_schema()));
}

const struct verb schema_verb = {
	.name = "schema",
	.arguments = "",
	.help = "prints the JSON Schema of jobs",
	.example = "haul schema --reference",
	.options = schema_options,
	.options_bytes = sizeof(struct schema_args),
	.run = schema_run,
};
