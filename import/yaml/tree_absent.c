/* SPDX-License-Identifier: Apache-2.0 */
/* YAML reader of a build without libyaml: refuses all text. */
#include <errno.h>

#include "import/yaml/tree.h"

bool yaml_tree_built(void)
{
	return false;
}

int yaml_tree_read(struct cJSON **out, const char *text, size_t length, struct err *err)
{
	(void)text;
	(void)length;
	*out = NULL;
	return err_set(err, -ENOTSUP, "this haul cannot read YAML: it was built without libyaml");
}
