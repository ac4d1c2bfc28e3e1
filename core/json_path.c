/* SPDX-License-Identifier: Apache-2.0 */
/* Values by their path: see json_path.h. */
#include "core/json_path.h"

#include <cjson/cJSON.h>
#include <string.h>

/* The place that digits name; -1: they are not digits, or more than a list has. */
static int json_place(const char *part, size_t length)
{
	enum { PATH_DIGITS_MAX = 9 };
	int place = 0;

	if (length == 0 || length > PATH_DIGITS_MAX)
		return -1;
	for (size_t i = 0; i < length; i++) {
		if (part[i] < '0' || part[i] > '9')
			return -1;
		place = 10 * place + (part[i] - '0');
	}
	return place;
}

static struct cJSON *json_child(const struct cJSON *tree, const char *part, size_t length)
{
	struct cJSON *child;

	if (cJSON_IsArray(tree)) {
		int place = json_place(part, length);

		return place < 0 ? NULL : cJSON_GetArrayItem(tree, place);
	}
	if (!cJSON_IsObject(tree))
		return NULL;
	cJSON_ArrayForEach(child, tree)
	{
		if (strncmp(child->string, part, length) == 0 && !child->string[length])
			return child;
	}
	return NULL;
}

struct cJSON *json_at(const struct cJSON *tree, const char *path)
{
	char separator = *path == '/' ? '/' : '.';
	const char *end;

	path += *path == '/';
	for (; tree && *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, separator);
		tree = json_child(tree, path, (size_t)(end - path));
	}
	/* The caller decides whether its tree may be changed, as with cJSON's own functions. */
	return cJSON_IsNull(tree) ? NULL : (struct cJSON *)tree;
}

double json_number_at(const struct cJSON *tree, const char *path, double otherwise)
{
	const struct cJSON *value = json_at(tree, path);

	return cJSON_IsNumber(value) ? value->valuedouble
	       : cJSON_IsBool(value) ? cJSON_IsTrue(value)
				     : otherwise;
}

uint64_t json_whole_at(const struct cJSON *tree, const char *path, uint64_t otherwise)
{
	static const double limit = 18446744073709551616.0; /* 2^64 */
	double value = json_number_at(tree, path, -1);

	return value >= 0 && value < limit ? (uint64_t)value : otherwise;
}

const char *json_text_at(const struct cJSON *tree, const char *path, const char *otherwise)
{
	const struct cJSON *value = json_at(tree, path);

	return cJSON_IsString(value) ? value->valuestring : otherwise;
}

bool json_true_at(const struct cJSON *tree, const char *path)
{
	return json_number_at(tree, path, 0) != 0;
}
