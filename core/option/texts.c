/* SPDX-License-Identifier: Apache-2.0 */
/* Options that are texts: one, several, or a choice among names; and words of a command line. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/arena.h"
#include "core/json.h"
#include "core/option/internal.h"

static bool text_schema_default(struct cJSON *schema, const struct option *o)
{
	return !o->def_text || option_add(schema, "default", cJSON_CreateString(o->def_text));
}

static void text_shown(char *out, size_t size, const struct option *o)
{
	if (o->def_text && *o->def_text)
		snprintf(out, size, ", default \"%s\"", o->def_text);
}

static int text_start(const struct option *o, void *member, struct arena *arena, struct err *err)
{
	(void)arena;
	(void)err;
	snprintf(member, o->size, "%s", o->def_text ? o->def_text : "");
	return 0;
}

static int plain_text(const struct cJSON *value, const char *where, struct err *err)
{
	char is[JSON_QUOTE_BYTES];

	if (json_text_plain(value->valuestring))
		return 0;
	return err_set(err, -EINVAL, "%s: must not hold control characters, is %s", where,
		       json_describe(is, value));
}

static int text_parse(const struct option *o, void *member, const struct cJSON *value,
		      const char *where, struct arena *arena, struct err *err)
{
	size_t length;
	int rc;

	(void)arena;
	if (!cJSON_IsString(value))
		return option_refuse(where, "a string", value, err);
	rc = plain_text(value, where, err);
	if (rc < 0)
		return rc;
	length = strlen(value->valuestring);
	if (length >= o->size)
		return err_set(err, -EINVAL, "%s: must be at most %u bytes long, is %zu", where,
			       o->size - 1, length);
	memcpy(member, value->valuestring, length + 1);
	return 0;
}

static cJSON *text_print(const struct option *o, const void *member)
{
	(void)o;
	return cJSON_CreateString(member);
}

static bool text_schema(struct cJSON *schema, const struct option *o)
{
	return option_add(schema, "type", cJSON_CreateString("string")) &&
	       option_add(schema, "maxLength", cJSON_CreateNumber(o->size - 1));
}

const struct option_rules option_text = {.words = "text",
					 .start = text_start,
					 .parse = text_parse,
					 .print = text_print,
					 .schema = text_schema,
					 .schema_default = text_schema_default,
					 .shown_default = text_shown};

static int texts_start(const struct option *o, void *member, struct arena *arena, struct err *err)
{
	struct texts *texts = member;

	*texts = (struct texts){0};
	if (!o->def_text)
		return 0;
	texts->items = arena_alloc(arena, sizeof(char *));
	if (texts->items)
		texts->items[0] = arena_text(arena, o->def_text);
	if (!texts->items || !texts->items[0])
		return err_set(err, -ENOMEM, "no memory for the default of %s", o->name);
	texts->count = 1;
	return 0;
}

static int texts_parse(const struct option *o, void *member, const struct cJSON *value,
		       const char *where, struct arena *arena, struct err *err)
{
	struct texts *out = member;
	const cJSON *item = cJSON_IsArray(value) ? value->child : value;
	char at[OPTION_PATH_BYTES + 16];
	uint32_t i, count;
	int rc;

	(void)o;
	if (!cJSON_IsArray(value) && !cJSON_IsString(value))
		return option_refuse(where, "a string or a list of strings", value, err);
	count = cJSON_IsArray(value) ? (uint32_t)cJSON_GetArraySize(value) : 1;
	out->count = 0;
	out->items = arena_alloc(arena, (count + 1) * sizeof(char *));
	if (!out->items)
		return err_set(err, -ENOMEM, "%s: no memory", where);
	for (i = 0; i < count; i++, item = item->next) {
		snprintf(at, sizeof(at), cJSON_IsArray(value) ? "%s/%u" : "%s", where, i);
		if (!cJSON_IsString(item))
			return option_refuse(at, "a string", item, err);
		rc = plain_text(item, at, err);
		if (rc < 0)
			return rc;
		out->items[i] = arena_text(arena, item->valuestring);
		if (!out->items[i])
			return err_set(err, -ENOMEM, "%s: no memory", where);
	}
	out->count = count;
	return 0;
}

static cJSON *texts_print(const struct option *o, const void *member)
{
	const struct texts *texts = member;
	cJSON *list;
	uint32_t i;

	(void)o;
	if (texts->count == 1)
		return cJSON_CreateString(texts->items[0]);
	list = cJSON_CreateArray();
	for (i = 0; list && i < texts->count; i++) {
		if (!option_append(list, cJSON_CreateString(texts->items[i]))) {
			cJSON_Delete(list);
			return NULL;
		}
	}
	return list;
}

static bool texts_schema(struct cJSON *schema, const struct option *o)
{
	cJSON *any = cJSON_AddArrayToObject(schema, "oneOf"), *list;

	(void)o;
	if (!option_alternative(any, "string", NULL))
		return false;
	list = option_alternative(any, "array", NULL);
	return list && option_add(cJSON_AddObjectToObject(list, "items"), "type",
				  cJSON_CreateString("string"));
}

const struct option_rules option_texts = {.words = "text or list of texts",
					  .start = texts_start,
					  .parse = texts_parse,
					  .print = texts_print,
					  .schema = texts_schema,
					  .schema_default = text_schema_default,
					  .shown_default = text_shown};

static int choice_start(const struct option *o, void *member, struct arena *arena, struct err *err)
{
	(void)arena;
	(void)err;
	*(uint32_t *)member = (uint32_t)o->def;
	return 0;
}

static int choice_parse(const struct option *o, void *member, const struct cJSON *value,
			const char *where, struct arena *arena, struct err *err)
{
	char is[JSON_QUOTE_BYTES], known[400] = "";
	const char *near = NULL, *given = cJSON_IsString(value) ? value->valuestring : NULL;
	uint32_t i, n = 0;

	(void)arena;
	/* On Hugging Face, the organisation comes first: meta-llama/Llama-3.1-8B. */
	if (given && o->spelled) {
		const char *slash = strrchr(given, '/');
		const char *found = option_spelled(slash ? slash + 1 : given, o->choices);

		given = found ? found : given;
	}
	while (o->choices[n])
		n++;
	for (i = 0; i < n; i++) {
		if (given && !strcmp(given, o->choices[i])) {
			*(uint32_t *)member = i;
			return 0;
		}
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s\"%s\"",
			 !i           ? ""
			 : i + 1 == n ? " or "
				      : ", ",
			 o->choices[i]);
	}
	if (cJSON_IsString(value))
		near = option_nearest(value->valuestring, o->choices);
	json_describe(is, value);
	if (near && n > 1)
		return err_set(err, -EINVAL, "%s: must be %s, is %s; did you mean \"%s\"?", where,
			       known, is, near);
	return err_set(err, -EINVAL, "%s: must be %s, is %s", where, known, is);
}

static cJSON *choice_print(const struct option *o, const void *member)
{
	return cJSON_CreateString(o->choices[*(const uint32_t *)member]);
}

static bool choice_schema(struct cJSON *schema, const struct option *o)
{
	cJSON *list = cJSON_AddArrayToObject(schema, "enum");
	const char *const *name;

	for (name = o->choices; *name; name++)
		if (!option_append(list, cJSON_CreateString(*name)))
			return false;
	return list != NULL;
}

static bool choice_default_valid(const struct option *o)
{
	uint64_t n = 0;

	while (o->choices[n])
		n++;
	return o->def < n;
}

static void choice_names(char *out, size_t size, const struct option *o)
{
	size_t at = 0;

	for (const char *const *name = o->choices; *name; name++) {
		snprintf(out + at, size - at, "%s%s", at ? " | " : "", *name);
		at = strlen(out);
	}
}

static void choice_shown(char *out, size_t size, const struct option *o)
{
	snprintf(out, size, ", default %s", o->choices[o->def]);
}

const struct option_rules option_choice = {.words = "",
					   .start = choice_start,
					   .parse = choice_parse,
					   .print = choice_print,
					   .schema = choice_schema,
					   .schema_default = option_value_default,
					   .default_valid = choice_default_valid,
					   .range = choice_names,
					   .shown_default = choice_shown};

static int word_start(const struct option *o, void *member, struct arena *arena, struct err *err)
{
	(void)arena;
	(void)err;
	*(const char **)member = o->def_text;
	return 0;
}

static int word_parse(const struct option *o, void *member, const struct cJSON *value,
		      const char *where, struct arena *arena, struct err *err)
{
	(void)o;
	(void)where;
	(void)arena;
	(void)err;
	*(const char **)member = value->valuestring;
	return 0;
}

const struct option_rules option_word = {.words = "text", .start = word_start, .parse = word_parse};

static int words_start(const struct option *o, void *member, struct arena *arena, struct err *err)
{
	(void)o;
	(void)arena;
	(void)err;
	((struct word_list *)member)->count = 0;
	return 0;
}

static int words_parse(const struct option *o, void *member, const struct cJSON *value,
		       const char *where, struct arena *arena, struct err *err)
{
	struct word_list *out = member;

	(void)o;
	(void)arena;
	if (out->count == WORD_LIST_MAX)
		return err_set(err, -EINVAL, "%s: may not be given more than %d times", where,
			       WORD_LIST_MAX);
	out->items[out->count++] = value->valuestring;
	return 0;
}

const struct option_rules option_words = {
	.words = "texts", .start = words_start, .parse = words_parse};
