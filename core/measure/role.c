/* SPDX-License-Identifier: Apache-2.0 */
/* Names of roles: see role.h. */
#include "core/measure/role.h"

#include <string.h>

static const char *const names[ROLES] = {
#define ROLE_NAME(id, name) [ROLE_##id] = name,
	ROLE_LIST(ROLE_NAME)
#undef ROLE_NAME
};

const char *role_name(enum role role)
{
	return names[role];
}

enum role role_of(const char *name)
{
	for (int i = 0; i < ROLES; i++)
		if (strcmp(names[i], name) == 0)
			return (enum role)i;
	return ROLE_NONE;
}
