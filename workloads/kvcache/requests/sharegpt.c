/* SPDX-License-Identifier: Apache-2.0 */
/* Conversations in ShareGPT's form: see sharegpt.h. The list is cut into its objects here, and each
 * object is parsed by itself. */
#include "workloads/kvcache/requests/sharegpt.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "core/json.h"
#include "core/line_reader.h"
#include "core/numbers.h"

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

int arrivals_blocks_add(struct arrivals_blocks *b, uint64_t id, struct err *err)
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

int arrivals_ids_room(struct arrivals_ids *ids, uint32_t count, struct err *err)
{
	uint64_t *grown;

	ids->count = 0;
	if (count <= ids->room)
		return 0;
	grown = realloc(ids->id, count * sizeof(*grown));
	if (!grown)
		return err_set(err, -ENOMEM, "no memory for the blocks of a request");
	ids->id = grown;
	ids->room = count;
	return 0;
}

/* Where an object ends: what is between quotes is passed over. */
struct object_scan {
	uint64_t depth;
	bool quoted, escaped, ended;
};

static void object_look(struct object_scan *o, char c)
{
	if (o->escaped) {
		o->escaped = false;
	} else if (o->quoted) {
		o->escaped = c == '\\';
		o->quoted = c != '"';
	} else if (c == '"') {
		o->quoted = true;
	} else if (c == '{' || c == '[') {
		o->depth++;
	} else if (c == '}' || c == ']') {
		o->ended = --o->depth == 0;
	}
}

/* The text of a member's value, by the member's number. The line is JSON, and an object. */
static const char *json_value(const char *line, int number)
{
	struct object_scan scan = {0};

	for (; *line && !scan.ended; line++) {
		object_look(&scan, *line);
		if (scan.depth != 1 || scan.quoted)
			continue;
		number -= *line == ',';
		if (*line == ':' && number == 0)
			return line + 1;
	}
	return NULL;
}

/* The line has been found to be JSON. Its list is found by its place, since a text may look like
 * it. */
static int json_blocks(const cJSON *root, const char *line, const cJSON *list,
		       struct arrivals_ids *ids, struct err *err)
{
	int count = cJSON_GetArraySize(list), number = 0,
	    rc = arrivals_ids_room(ids, (uint32_t)count, err);
	const char *at;

	for (const cJSON *other = root->child; other != list; other = other->next)
		number++;
	at = json_value(line, number);
	at = at ? strchr(at, '[') : NULL;
	for (int i = 0; rc == 0 && i < count; i++) {
		if (at)
			at++; /* the bracket, or the comma */
		if (!at || !json_id(&at, &ids->id[i]))
			return err_set(err, -EINVAL,
				       "\"hash_ids\" must be a list of whole numbers of 64 bits");
		ids->count++;
	}
	return rc;
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

/* "0x" and hexadecimal digits. Hashes of more than 64 bits are folded. */
static bool json_hash(const cJSON *item, uint64_t *id)
{
	const char *text = cJSON_IsString(item) ? item->valuestring : "";
	size_t digits;

	if (strncmp(text, "0x", 2) != 0)
		return false;
	text += 2;
	digits = strspn(text, "0123456789abcdefABCDEF");
	if (!digits || text[digits])
		return false;
	*id = 0;
	for (size_t at = 0; at < digits; at += 16) {
		char part[17];

		snprintf(part, sizeof(part), "%.16s", text + at);
		*id = (at ? mix64(*id) : 0) ^ strtoull(part, NULL, 16);
	}
	return true;
}

/* A lookup of LMCache: only full chunks have a hash, and nobody says what was generated. */
static int json_lookup(const cJSON *root, const cJSON *hashes, struct arrivals_line *out,
		       struct arrivals_ids *ids, struct err *err)
{
	const cJSON *item;
	int rc = json_tokens(root, "seq_len", &out->context, err);

	if (rc == 0 && cJSON_HasObjectItem(root, "chunk_size"))
		rc = json_tokens(root, "chunk_size", &out->block_tokens, err);
	if (rc == 0 && !out->block_tokens && cJSON_HasObjectItem(root, "chunk_size"))
		rc = err_set(err, -EINVAL, "\"chunk_size\" must be above 0");
	if (rc < 0)
		return rc;
	if (!cJSON_IsArray(hashes))
		return err_set(err, -EINVAL, "\"chunk_hashes\" must be a list");
	rc = arrivals_ids_room(ids, (uint32_t)cJSON_GetArraySize(hashes), err);
	cJSON_ArrayForEach(item, hashes)
	{
		if (rc == 0 && !json_hash(item, &ids->id[ids->count]))
			rc = err_set(err, -EINVAL,
				     "\"chunk_hashes\" must be a list of texts such as \"0x1a2b\"");
		ids->count += rc == 0;
	}
	return rc;
}

static int json_request(const cJSON *root, const char *line, struct arrivals_line *out,
			struct arrivals_ids *ids, struct err *err)
{
	const cJSON *time = cJSON_GetObjectItemCaseSensitive(root, "timestamp");
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "hash_ids");
	const cJSON *hashes = cJSON_GetObjectItemCaseSensitive(root, "chunk_hashes");
	double unit = hashes || cJSON_HasObjectItem(root, "chat_id") ? 1e9 : 1e6;
	char is[JSON_QUOTE_BYTES];
	int rc;

	if (!time)
		return err_set(err, -EINVAL, "has no \"timestamp\"");
	if (!cJSON_IsNumber(time) || time->valuedouble < 0 || time->valuedouble * unit > ns_max)
		return err_set(err, -EINVAL, "\"timestamp\" must be a number of %s, is %s",
			       unit > 1e6 ? "seconds" : "milliseconds", json_describe(is, time));
	out->ns = (uint64_t)(time->valuedouble * unit + 0.5);
	out->blocks = hashes || list;
	if (hashes)
		return json_lookup(root, hashes, out, ids, err);
	rc = json_tokens(root, "input_length", &out->context, err);
	if (rc == 0)
		rc = json_tokens(root, "output_length", &out->generate, err);
	if (rc < 0 || !list)
		return rc;
	if (!cJSON_IsArray(list))
		return err_set(err, -EINVAL, "\"hash_ids\" must be a list, is %s",
			       json_describe(is, list));
	return json_blocks(root, line, list, ids, err);
}

int arrivals_json_parse(const char *line, size_t length, struct arrivals_line *out,
			struct arrivals_ids *ids, struct err *err)
{
	cJSON *root;
	int rc = json_parse(&root, line, length, LINE_DEPTH, LINE_VALUES, err);

	if (rc < 0)
		return rc;
	ids->count = 0;
	rc = json_request(root, line, out, ids, err);
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
	if (cJSON_HasObjectItem(root, "chunk_hashes"))
		found = *turns ? 0 : 3;
	for (unsigned i = 0; i < 3 && !*turns && rc == 0 && found < 3; i++)
		if (found && !cJSON_HasObjectItem(root, keys[i]))
			rc = err_set(err, -EINVAL,
				     "is a trace of requests as lines of JSON, without \"%s\"",
				     keys[i]);
	if (rc == 0 && !found && !*turns)
		rc = err_set(
			err, -EINVAL,
			"is JSON, but neither a request with \"timestamp\", \"input_length\" and "
			"\"output_length\" (Mooncake) or \"chunk_hashes\" (LMCache's lookups) nor a conversation with \"conversations\" "
			"(ShareGPT)");
	cJSON_Delete(root);
	return rc;
}

enum { OBJECT_ROOM = 64 << 10, OBJECT_DEPTH = 8, OBJECT_VALUES = 1 << 20, TEXT_END = 256 };

static const char byte_order_mark[] = "\xef\xbb\xbf";

static bool sharegpt_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

char sharegpt_begins(const char *text, size_t bytes)
{
	size_t at = bytes >= 3 && memcmp(text, byte_order_mark, 3) == 0 ? 3 : 0;

	while (at < bytes && sharegpt_space(text[at]))
		at++;
	return at < bytes ? text[at] : '\0';
}

void sharegpt_open(struct sharegpt *s, struct line_reader *text, uint64_t characters)
{
	*s = (struct sharegpt){.text = text, .characters = characters};
}

void sharegpt_close(struct sharegpt *s)
{
	free(s->object);
	free(s->turns);
	s->object = NULL;
	s->turns = NULL;
}

/* The next byte of the text, or TEXT_END, or a negative errno. Does not take it. */
static int sharegpt_peek(struct sharegpt *s, struct err *err)
{
	int rc = s->left ? 1 : line_reader_piece(s->text, &s->piece, &s->left, err);

	if (rc < 0)
		return rc;
	return rc ? (unsigned char)*s->piece : TEXT_END;
}

static void sharegpt_take(struct sharegpt *s)
{
	s->piece++;
	s->left--;
}

/* The next byte that is no space, without taking it. */
static int sharegpt_peek_word(struct sharegpt *s, struct err *err)
{
	int c = sharegpt_peek(s, err);

	while (c >= 0 && c < TEXT_END && sharegpt_space((char)c)) {
		sharegpt_take(s);
		c = sharegpt_peek(s, err);
	}
	return c;
}

/* Takes the "[" that the list begins with. Lines of objects have none. */
static int sharegpt_begin(struct sharegpt *s, struct err *err)
{
	int c = sharegpt_peek(s, err);

	for (int i = 0; i < 3 && c == (unsigned char)byte_order_mark[i]; i++) {
		sharegpt_take(s);
		c = sharegpt_peek(s, err);
	}
	c = sharegpt_peek_word(s, err);
	s->lines = s->begun = c == '{';
	if (s->lines)
		return 0;
	if (c != '[')
		return c < 0 ? c : err_set(err, -EINVAL, "must be a list of conversations");
	sharegpt_take(s);
	s->begun = true;
	return 0;
}

static int object_add(struct sharegpt *s, const char *data, size_t bytes, struct err *err)
{
	size_t room = s->room ? s->room : OBJECT_ROOM;
	char *object;

	if (bytes > SHAREGPT_OBJECT_BYTES - s->bytes)
		return err_set(err, -EMSGSIZE, "is larger than %d MiB",
			       SHAREGPT_OBJECT_BYTES >> 20);
	while (room < s->bytes + bytes)
		room *= 2;
	if (room != s->room) {
		object = realloc(s->object, room);
		if (!object)
			return err_set(err, -ENOMEM, "no memory for its %zu bytes", room);
		s->object = object;
		s->room = room;
	}
	memcpy(s->object + s->bytes, data, bytes);
	s->bytes += bytes;
	return 0;
}

/* Takes an object, which begins here, whatever it holds. */
static int object_read(struct sharegpt *s, struct err *err)
{
	struct object_scan scan = {0};
	int rc = 0;

	s->bytes = 0;
	while (rc == 0 && !scan.ended) {
		int c = sharegpt_peek(s, err);
		size_t bytes = 0;

		if (c < 0 || c == TEXT_END)
			return c < 0 ? c : err_set(err, -EINVAL, "ends too early");
		while (bytes < s->left && !scan.ended)
			object_look(&scan, s->piece[bytes++]);
		rc = object_add(s, s->piece, bytes, err);
		s->piece += bytes;
		s->left -= bytes;
	}
	return rc;
}

/* Characters and not bytes, as the original counts them. */
static uint64_t text_tokens(const struct sharegpt *s, const char *text)
{
	uint64_t characters = 0, tokens;

	for (; *text; text++)
		characters += ((unsigned char)*text & 0xc0) != 0x80;
	tokens = characters / s->characters;
	return tokens ? tokens : 1;
}

enum speaker { SPEAKER_OTHER, SPEAKER_PERSON, SPEAKER_MODEL };

static enum speaker turn_speaker(const char *from)
{
	static const char *const people[] = {"human", "user", "person"};
	static const char *const models[] = {"gpt",  "assistant", "chatgpt", "bing",
					     "bard", "model",     "claude",  "bot"};

	for (unsigned i = 0; i < COUNT(people); i++)
		if (strcmp(from, people[i]) == 0)
			return SPEAKER_PERSON;
	for (unsigned i = 0; i < COUNT(models); i++)
		if (strcmp(from, models[i]) == 0)
			return SPEAKER_MODEL;
	return SPEAKER_OTHER;
}

/* What was said becomes turns. */
static int object_turns(struct sharegpt *s, const cJSON *said, struct err *err)
{
	const char *asked = NULL; /* what a person said just before */
	const cJSON *one;

	cJSON_ArrayForEach(one, said)
	{
		const cJSON *from = cJSON_GetObjectItemCaseSensitive(one, "from");
		const cJSON *value = cJSON_GetObjectItemCaseSensitive(one, "value");
		enum speaker speaker;

		if (!cJSON_IsString(from) || !cJSON_IsString(value))
			return err_set(err, -EINVAL,
				       "\"conversations\" must be a list of objects with the texts "
				       "\"from\" and \"value\"");
		speaker = turn_speaker(from->valuestring);
		if (speaker == SPEAKER_MODEL && asked) {
			struct sharegpt_turn *turn = &s->turns[s->turn_count++];

			*turn = (struct sharegpt_turn){.conversation = s->objects,
						       .turn = s->turn_count,
						       .context = text_tokens(s, asked),
						       .generate =
							       text_tokens(s, value->valuestring)};
		}
		asked = speaker == SPEAKER_PERSON ? value->valuestring : NULL;
	}
	return 0;
}

static int object_parse(struct sharegpt *s, struct err *err)
{
	const cJSON *said;
	cJSON *object;
	int count, rc = json_parse(&object, s->object, s->bytes, OBJECT_DEPTH, OBJECT_VALUES, err);

	s->turn_count = s->taken = 0;
	if (rc < 0)
		return rc;
	said = cJSON_GetObjectItemCaseSensitive(object, "conversations");
	count = cJSON_GetArraySize(said);
	if (said && !cJSON_IsArray(said)) {
		rc = err_set(err, -EINVAL, "\"conversations\" must be a list");
	} else if (count) {
		free(s->turns);
		s->turns = calloc((size_t)count, sizeof(*s->turns));
		rc = s->turns ? object_turns(s, said, err)
			      : err_set(err, -ENOMEM, "no memory for its turns");
	}
	cJSON_Delete(object);
	return rc;
}

/* The comma before the next object, or the end of the list, behind which there is nothing. Returns
 * whether an object follows. */
static int sharegpt_follows(struct sharegpt *s, struct err *err)
{
	int c = sharegpt_peek_word(s, err);

	if (s->lines) {
		if (c == TEXT_END || c == '{')
			return c == '{';
		return c < 0 ? c : err_set(err, -EINVAL, "must be an object");
	}
	if (c == ']') {
		sharegpt_take(s);
		s->ended = true;
		c = sharegpt_peek_word(s, err);
		if (c == TEXT_END)
			return 0;
		return c < 0 ? c : err_set(err, -EINVAL, "is behind the end of the list");
	}
	if (s->objects && c == ',') {
		sharegpt_take(s);
		c = sharegpt_peek_word(s, err);
	} else if (s->objects && c >= 0) {
		return err_set(err, -EINVAL, "needs a comma or the end of the list before it");
	}
	if (c == '{')
		return 1;
	return c < 0 ? c : err_set(err, -EINVAL, "must be an object");
}

/* Reads the next object. Returns 1, or 0 at the end of the list. */
static int sharegpt_object(struct sharegpt *s, struct err *err)
{
	int rc = sharegpt_follows(s, err);

	if (rc == 0)
		return 0;
	if (rc > 0)
		rc = object_read(s, err);
	s->ended = s->ended || rc < 0;
	if (rc == 0)
		rc = object_parse(s, err);
	s->objects++;
	if (rc < 0) {
		s->turn_count = s->taken = 0;
		return err_wrap(err, rc, "conversation %" PRIu64, s->objects);
	}
	return 1;
}

int sharegpt_next(struct sharegpt *s, struct sharegpt_turn *out, struct err *err)
{
	int rc = s->begun ? 0 : sharegpt_begin(s, err);

	if (rc < 0) {
		s->begun = s->ended = true;
		return rc;
	}
	while (s->taken == s->turn_count) {
		rc = s->ended ? 0 : sharegpt_object(s, err);
		if (rc <= 0)
			return rc;
	}
	*out = s->turns[s->taken++];
	return 1;
}
