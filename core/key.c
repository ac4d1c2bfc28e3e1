/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of keys from outside the program: see key.h. */
#include "core/key.h"

#include <errno.h>
#include <string.h>

/* "." or ".." */
static bool key_part_is_dots(const char *part, size_t length)
{
	return (length == 1 && part[0] == '.') || (length == 2 && part[0] == '.' && part[1] == '.');
}

int key_check(const char *text, struct err *err)
{
	for (const char *part = text;; part++) {
		size_t n = strcspn(part, "/");

		if (n == 0 || key_part_is_dots(part, n))
			return err_set(err, -EINVAL,
				       "must be a plain path such as \"train/a\", is \"%s\"", text);
		part += n;
		if (!*part)
			return 0;
	}
}

int key_check_folder(const char *text, struct err *err)
{
	size_t n = strlen(text);

	if (n && text[n - 1] == '/')
		return err_set(err, -EINVAL, "must not end in \"/\", is \"%s\"", text);
	return n ? key_check(text, err) : 0;
}

int key_check_prefix(const char *text, struct err *err)
{
	if (text[0] != '.' && !strchr(text, '/'))
		return 0;
	return err_set(
		err, -EINVAL,
		"must be the beginning of a file name, without \"/\" and not \".\", is \"%s\"",
		text);
}

static void key_scan_part(struct key_scan *k)
{
	bool dots = key_part_is_dots(k->part, k->length);

	/* "./" at the beginning is dropped. */
	if (dots && (k->begun || k->length == 2))
		k->leaves = true;
	if (k->length && !(dots && k->length == 1))
		k->begun = true;
	k->length = 0;
}

void key_scan_add(struct key_scan *k, const char *text, size_t bytes)
{
	while (bytes) {
		const char *slash = memchr(text, '/', bytes);
		size_t n = slash ? (size_t)(slash - text) : bytes;

		for (size_t i = 0; i < n && k->length + i < sizeof(k->part); i++)
			k->part[k->length + i] = text[i];
		k->length += n;
		if (!slash)
			return;
		key_scan_part(k);
		text += n + 1;
		bytes -= n + 1;
	}
}

bool key_scan_leaves(struct key_scan *k, size_t cut)
{
	bool leaves;

	k->length -= cut;
	/* A name that is only "." is not a name. */
	k->begun = true;
	key_scan_part(k);
	leaves = k->leaves;
	*k = (struct key_scan){0};
	return leaves;
}
