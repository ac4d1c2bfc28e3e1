/* SPDX-License-Identifier: Apache-2.0 */
/* YAML reader: see tree.h. The tree is built from libyaml's events without recursion: lists and
 * objects that are not complete yet are on a stack of YAML_DEPTH_MAX levels, and each is added to
 * its parent once it is complete. An alias of an incomplete one, which would be a cycle, is
 * therefore unknown. The values that an alias stands for are copied and counted. */
#include "import/yaml/tree.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "core/json.h"

enum { ANCHORS_MAX = 256 };
#define CORE_TAG "tag:yaml.org,2002:"

struct level {
	cJSON *node;   /* a list or an object */
	cJSON *merged; /* of an object: the value of "<<", or NULL */
	char *key;     /* of an object: the key whose value comes next */
	char *anchor;
};

struct anchor {
	char *name;
	cJSON *copy;
};

struct builder {
	yaml_parser_t parser;
	struct level levels[YAML_DEPTH_MAX];
	unsigned depth, anchor_count, values, documents;
	struct anchor anchors[ANCHORS_MAX];
	cJSON *root;
	struct err *err;
};

static int tree_refuse(struct builder *b, const yaml_mark_t *at, const char *sentence,
		       const char *text)
{
	char quoted[JSON_QUOTE_BYTES] = "";

	if (text)
		json_quote(quoted, text);
	return err_set(b->err, -EINVAL, "line %zu, column %zu: %s%s%s", at->line + 1,
		       at->column + 1, sentence, text ? " " : "", quoted);
}

static int tree_no_memory(struct builder *b)
{
	return err_set(b->err, -ENOMEM, "no memory for the YAML text");
}

/* Adds the number of values in node, itself included, to *values. Returns the depth of the tree. */
static unsigned tree_measure(const cJSON *node, unsigned *values)
{
	unsigned deepest = 0;
	const cJSON *child;

	++*values;
	cJSON_ArrayForEach(child, node)
	{
		unsigned depth = tree_measure(child, values);

		deepest = depth > deepest ? depth : deepest;
	}
	return deepest + 1;
}

/* A copy of a value that an alias stands for or that "<<" merges. Its values are counted. */
static int tree_copy(struct builder *b, const yaml_mark_t *at, const cJSON *node, cJSON **copy)
{
	unsigned values = 0;

	if (tree_measure(node, &values) + b->depth > YAML_DEPTH_MAX)
		return tree_refuse(b, at, "this alias makes the text too deep", NULL);
	b->values += values;
	if (b->values > YAML_VALUES_MAX)
		return tree_refuse(b, at, "aliases make more values than are allowed", NULL);
	*copy = cJSON_Duplicate(node, true);
	return *copy ? 0 : tree_no_memory(b);
}

static int tree_anchor(struct builder *b, const yaml_mark_t *at, char *name, const cJSON *node)
{
	struct anchor *a = NULL;

	for (unsigned i = 0; i < b->anchor_count; i++)
		if (strcmp(b->anchors[i].name, name) == 0)
			a = &b->anchors[i];
	if (!a && b->anchor_count == ANCHORS_MAX) {
		free(name);
		return tree_refuse(b, at, "the text has too many anchors", NULL);
	}
	if (!a) {
		a = &b->anchors[b->anchor_count++];
		a->name = name;
	} else {
		free(name);
		cJSON_Delete(a->copy);
		a->copy = NULL;
	}
	return tree_copy(b, at, node, &a->copy);
}

static int tree_merge_one(struct builder *b, const yaml_mark_t *at, cJSON *into, const cJSON *from)
{
	const cJSON *child;
	int rc;

	if (!cJSON_IsObject(from))
		return tree_refuse(b, at, "\"<<\" can merge mappings only", NULL);
	cJSON_ArrayForEach(child, from)
	{
		cJSON *copy;

		if (cJSON_GetObjectItemCaseSensitive(into, child->string))
			continue;
		rc = tree_copy(b, at, child, &copy);
		if (rc < 0)
			return rc;
		if (!cJSON_AddItemToObject(into, child->string, copy)) {
			cJSON_Delete(copy);
			return tree_no_memory(b);
		}
	}
	return 0;
}

/* The object's own keys take precedence over merged ones, and of those the first. */
static int tree_merge(struct builder *b, const yaml_mark_t *at, struct level *l)
{
	const cJSON *from;
	int rc = 0;

	if (!cJSON_IsArray(l->merged))
		return tree_merge_one(b, at, l->node, l->merged);
	cJSON_ArrayForEach(from, l->merged)
	{
		rc = tree_merge_one(b, at, l->node, from);
		if (rc < 0)
			break;
	}
	return rc;
}

/* Adds a complete value to its parent. It belongs to the tree from then on, or is freed. */
static int tree_attach(struct builder *b, const yaml_mark_t *at, cJSON *value)
{
	struct level *l;
	int rc = 0;

	if (!value)
		return tree_no_memory(b);
	if (!b->depth) {
		b->root = value;
		return 0;
	}
	l = &b->levels[b->depth - 1];
	if (cJSON_IsArray(l->node)) {
		if (cJSON_AddItemToArray(l->node, value))
			return 0;
		rc = tree_no_memory(b);
	} else if (!l->key) {
		rc = tree_refuse(b, at, "a key must be plain text", NULL);
	} else if (strcmp(l->key, "<<") == 0
			   ? l->merged != NULL
			   : cJSON_GetObjectItemCaseSensitive(l->node, l->key) != NULL) {
		rc = tree_refuse(b, at, "this key is given twice:", l->key);
	} else if (strcmp(l->key, "<<") == 0) {
		l->merged = value;
	} else if (!cJSON_AddItemToObject(l->node, l->key, value)) {
		rc = tree_no_memory(b);
	}
	free(l->key);
	l->key = NULL;
	if (rc < 0)
		cJSON_Delete(value);
	return rc;
}

static int tree_open(struct builder *b, const yaml_event_t *e, cJSON *node,
		     const yaml_char_t *anchor, const yaml_char_t *tag)
{
	struct level *l;

	if (!node)
		return tree_no_memory(b);
	if (tag && strcmp((const char *)tag, CORE_TAG "seq") != 0 &&
	    strcmp((const char *)tag, CORE_TAG "map") != 0) {
		cJSON_Delete(node);
		return tree_refuse(b, &e->start_mark, "unknown tag", (const char *)tag);
	}
	if (b->depth == YAML_DEPTH_MAX) {
		cJSON_Delete(node);
		return tree_refuse(b, &e->start_mark, "this value is nested too deep", NULL);
	}
	l = &b->levels[b->depth++];
	*l = (struct level){.node = node};
	if (anchor) {
		l->anchor = strdup((const char *)anchor);
		if (!l->anchor)
			return tree_no_memory(b);
	}
	return 0;
}

static int tree_close(struct builder *b, const yaml_event_t *e)
{
	struct level *l = &b->levels[b->depth - 1];
	cJSON *node = l->node;
	int rc = l->merged ? tree_merge(b, &e->start_mark, l) : 0;

	if (rc == 0 && l->anchor) {
		rc = tree_anchor(b, &e->start_mark, l->anchor, node);
		l->anchor = NULL;
	}
	if (rc < 0)
		return rc;
	cJSON_Delete(l->merged);
	b->depth--;
	return tree_attach(b, &e->start_mark, node);
}

/* The value of a scalar by its tag; "!" and quotes make it a text. NULL, with *rc set: the tag is
 * unknown. */
static cJSON *tree_scalar(struct builder *b, const yaml_event_t *e, int *rc)
{
	static const char *const resolved[] = {"int", "float", "bool", "null", NULL};
	const char *tag = (const char *)e->data.scalar.tag;
	const char *text = (const char *)e->data.scalar.value;

	*rc = 0;
	if (!tag)
		return e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? yaml_scalar(text)
								       : cJSON_CreateString(text);
	if (strcmp(tag, "!") == 0 || strcmp(tag, CORE_TAG "str") == 0)
		return cJSON_CreateString(text);
	if (strncmp(tag, CORE_TAG, strlen(CORE_TAG)) == 0)
		for (unsigned i = 0; resolved[i]; i++)
			if (strcmp(tag + strlen(CORE_TAG), resolved[i]) == 0)
				return yaml_scalar(text);
	*rc = tree_refuse(b, &e->start_mark, "unknown tag", tag);
	return NULL;
}

static int tree_take_scalar(struct builder *b, const yaml_event_t *e)
{
	const char *text = (const char *)e->data.scalar.value;
	struct level *l = b->depth ? &b->levels[b->depth - 1] : NULL;
	cJSON *value;
	char *name;
	int rc;

	if (strlen(text) != e->data.scalar.length)
		return tree_refuse(b, &e->start_mark, "this text holds a zero byte", NULL);
	if (l && cJSON_IsObject(l->node) && !l->key) {
		if (e->data.scalar.anchor)
			return tree_refuse(b, &e->start_mark, "a key cannot have an anchor", NULL);
		l->key = strdup(text);
		return l->key ? 0 : tree_no_memory(b);
	}
	value = tree_scalar(b, e, &rc);
	if (rc < 0 || !value)
		return rc < 0 ? rc : tree_no_memory(b);
	if (e->data.scalar.anchor) {
		name = strdup((const char *)e->data.scalar.anchor);
		rc = name ? tree_anchor(b, &e->start_mark, name, value) : tree_no_memory(b);
		if (rc < 0) {
			cJSON_Delete(value);
			return rc;
		}
	}
	return tree_attach(b, &e->start_mark, value);
}

static int tree_take_alias(struct builder *b, const yaml_event_t *e)
{
	const char *name = (const char *)e->data.alias.anchor;
	cJSON *copy = NULL;
	int rc;

	for (unsigned i = 0; i < b->anchor_count; i++) {
		if (strcmp(b->anchors[i].name, name) != 0)
			continue;
		rc = tree_copy(b, &e->start_mark, b->anchors[i].copy, &copy);
		return rc < 0 ? rc : tree_attach(b, &e->start_mark, copy);
	}
	return tree_refuse(b, &e->start_mark, "unknown alias", name);
}

static int tree_take(struct builder *b, const yaml_event_t *e)
{
	if (++b->values > YAML_VALUES_MAX)
		return tree_refuse(b, &e->start_mark, "the text has more values than are allowed",
				   NULL);
	switch (e->type) {
	case YAML_DOCUMENT_START_EVENT:
		return b->documents++ ? tree_refuse(b, &e->start_mark,
						    "a second document begins here", NULL)
				      : 0;
	case YAML_SCALAR_EVENT:
		return tree_take_scalar(b, e);
	case YAML_ALIAS_EVENT:
		return tree_take_alias(b, e);
	case YAML_SEQUENCE_START_EVENT:
		return tree_open(b, e, cJSON_CreateArray(), e->data.sequence_start.anchor,
				 e->data.sequence_start.tag);
	case YAML_MAPPING_START_EVENT:
		return tree_open(b, e, cJSON_CreateObject(), e->data.mapping_start.anchor,
				 e->data.mapping_start.tag);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return tree_close(b, e);
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		break;
	}
	return 0;
}

static int tree_take_all(struct builder *b)
{
	yaml_event_t e;
	bool end = false;
	int rc = 0;

	while (rc == 0 && !end) {
		if (!yaml_parser_parse(&b->parser, &e))
			return tree_refuse(b,
					   b->parser.problem_mark.index ? &b->parser.problem_mark
									: &b->parser.mark,
					   b->parser.problem ? b->parser.problem
							     : "the text is not YAML",
					   NULL);
		end = e.type == YAML_STREAM_END_EVENT;
		rc = tree_take(b, &e);
		yaml_event_delete(&e);
	}
	return rc;
}

static void tree_drop(struct builder *b)
{
	while (b->depth) {
		struct level *l = &b->levels[--b->depth];

		cJSON_Delete(l->node);
		cJSON_Delete(l->merged);
		free(l->key);
		free(l->anchor);
	}
	while (b->anchor_count) {
		struct anchor *a = &b->anchors[--b->anchor_count];

		free(a->name);
		cJSON_Delete(a->copy);
	}
	yaml_parser_delete(&b->parser);
}

bool yaml_tree_built(void)
{
	return true;
}

int yaml_tree_read(struct cJSON **out, const char *text, size_t length, struct err *err)
{
	struct builder *b;
	int rc;

	*out = NULL;
	if (length > YAML_TEXT_MAX)
		return err_set(err, -EINVAL, "is larger than %d bytes", YAML_TEXT_MAX);
	b = calloc(1, sizeof(*b));
	if (!b || !yaml_parser_initialize(&b->parser)) {
		free(b);
		return err_set(err, -ENOMEM, "no memory for the YAML text");
	}
	b->err = err;
	yaml_parser_set_input_string(&b->parser, (const unsigned char *)text, length);
	rc = tree_take_all(b);
	if (rc == 0 && !b->root)
		rc = err_set(err, -EINVAL, "holds nothing");
	tree_drop(b);
	if (rc < 0)
		cJSON_Delete(b->root);
	else
		*out = b->root;
	free(b);
	return rc;
}
