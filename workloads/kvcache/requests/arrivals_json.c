/* SPDX-License-Identifier: Apache-2.0 */
/* Arrivals as lines of JSON: see arrivals_json.h. */
#include "workloads/kvcache/requests/arrivals_json.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "core/json.h"

enum { LINE_DEPTH = 8, LINE_VALUES = 1 << 18, BLOCKS_FIRST = 1024 };
static const double tokens_max = 1 << 24, ns_max = 0x1p62;

void arrivals_blocks_free(struct arrivals_blocks *b)
{
	free(b->places);
	*b = (struct arrivals_blocks){0};
}

/* Whether the block was not there before. */
static bool blocks_put(uint64_t *places, uint64_t room, uint64_t id)
{
	uint64_t at = mix64(id) & (room - 1);

	while (places[at] && places[at] != id)
		at = (at + 1) & (room - 1);
	if (places[at])
		return false;
	places[at] = id;
	return true;
}

static int blocks_grow(struct arrivals_blocks *b)
{
	uint64_t room = b->room ? 2 * b->room : BLOCKS_FIRST;
	uint64_t *places = calloc(room, sizeof(*places));

	if (!places)
		return -ENOMEM;
	for (uint64_t i = 0; i < b->room; i++)
		if (b->places[i])
			blocks_put(places, room, b->places[i]);
	free(b->places);
	b->places = places;
	b->room = room;
	return 0;
}

static int blocks_add(struct arrivals_blocks *b, uint64_t id, struct err *err)
{
	b->references++;
	if (!id) {
		b->distinct += !b->zero;
		b->zero = true;
		return 0;
	}
	if (2 * b->distinct >= b->room && blocks_grow(b) < 0)
		return err_set(err, -ENOMEM, "no memory for the blocks of the trace");
	b->distinct += blocks_put(b->places, b->room, id);
	return 0;
}

/* A whole number of 64 bits, signed or not, from *text on. */
static bool json_id(const char **text, uint64_t *id)
{
	char *end;

	while (isspace((unsigned char)**text))
		++*text;
	if (!isdigit((unsigned char)**text) &&
	    (**text != '-' || !isdigit((unsigned char)(*text)[1])))
		return false;
	errno = 0;
	*id = **text == '-' ? (uint64_t)strtoll(*text, &end, 10) : strtoull(*text, &end, 10);
	*text = end;
	while (isspace((unsigned char)**text))
		++*text;
	return !errno && (**text == ',' || **text == ']');
}

/* The line has been found to be JSON, whose list has `count` entries. */
static int json_blocks(const char *line, int count, struct arrivals_blocks *blocks, struct err *err)
{
	const char *at = strstr(line, "\"hash_ids\"");

	at = at ? strchr(at, '[') : NULL;
	for (int i = 0; i < count; i++) {
		uint64_t id;
		int rc = 0;

		if (at)
			at++; /* the bracket, or the comma */
		if (!at || !json_id(&at, &id))
			return err_set(err, -EINVAL,
				       "\"hash_ids\" must be a list of whole numbers of 64 bits");
		if (blocks)
			rc = blocks_add(blocks, id, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int json_tokens(const cJSON *root, const char *key, uint64_t *tokens, struct err *err)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
	double value = cJSON_IsNumber(item) ? item->valuedouble : -1;
	char is[JSON_QUOTE_BYTES];

	if (!item)
		return err_set(err, -EINVAL, "has no \"%s\"", key);
	if (value < 0 || value > tokens_max || floor(value) < value)
		return err_set(err, -EINVAL,
			       "\"%s\" must be a whole number of tokens up to 2^24, is %s", key,
			       json_describe(is, item));
	*tokens = (uint64_t)value;
	return 0;
}

static int json_request(const cJSON *root, const char *line, uint64_t *ns, uint64_t *context,
			uint64_t *generate, struct arrivals_blocks *blocks, struct err *err)
{
	const cJSON *time = cJSON_GetObjectItemCaseSensitive(root, "timestamp");
	const cJSON *ids = cJSON_GetObjectItemCaseSensitive(root, "hash_ids");
	double unit = cJSON_HasObjectItem(root, "chat_id") ? 1e9 : 1e6;
	char is[JSON_QUOTE_BYTES];
	int rc;

	if (!time)
		return err_set(err, -EINVAL, "has no \"timestamp\"");
	if (!cJSON_IsNumber(time) || time->valuedouble < 0 || time->valuedouble * unit > ns_max)
		return err_set(err, -EINVAL, "\"timestamp\" must be a number of %s, is %s",
			       unit > 1e6 ? "seconds" : "milliseconds", json_describe(is, time));
	*ns = (uint64_t)(time->valuedouble * unit + 0.5);
	rc = json_tokens(root, "input_length", context, err);
	if (rc == 0)
		rc = json_tokens(root, "output_length", generate, err);
	if (rc < 0 || !ids)
		return rc;
	if (!cJSON_IsArray(ids))
		return err_set(err, -EINVAL, "\"hash_ids\" must be a list, is %s",
			       json_describe(is, ids));
	return json_blocks(line, cJSON_GetArraySize(ids), blocks, err);
}

int arrivals_json_parse(const char *line, size_t length, uint64_t *ns, uint64_t *context,
			uint64_t *generate, struct arrivals_blocks *blocks, struct err *err)
{
	cJSON *root;
	int rc = json_parse(&root, line, length, LINE_DEPTH, LINE_VALUES, err);

	if (rc < 0)
		return rc;
	rc = json_request(root, line, ns, context, generate, blocks, err);
	cJSON_Delete(root);
	return rc;
}

int arrivals_json_look(const char *line, size_t length, bool *turns, struct err *err)
{
	static const char *const keys[] = {"timestamp", "input_length", "output_length"};
	unsigned found = 0;
	cJSON *root;
	int rc = json_parse(&root, line, length, LINE_DEPTH, LINE_VALUES, err);

	/* A conversation may be spread over several lines. */
	*turns = rc < 0;
	if (rc < 0)
		return 0;
	*turns = cJSON_HasObjectItem(root, "conversations");
	for (unsigned i = 0; i < 3; i++)
		found += cJSON_HasObjectItem(root, keys[i]);
	for (unsigned i = 0; i < 3 && !*turns && rc == 0; i++)
		if (found && !cJSON_HasObjectItem(root, keys[i]))
			rc = err_set(err, -EINVAL,
				     "is a trace of requests as lines of JSON, without \"%s\"",
				     keys[i]);
	if (rc == 0 && !found && !*turns)
		rc = err_set(
			err, -EINVAL,
			"is JSON, but neither a request with \"timestamp\", \"input_length\" and "
			"\"output_length\" (Mooncake) nor a conversation with \"conversations\" "
			"(ShareGPT)");
	cJSON_Delete(root);
	return rc;
}
