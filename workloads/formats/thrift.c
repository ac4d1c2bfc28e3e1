/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/formats/thrift.h"

enum {
	THRIFT_FIELD,
	THRIFT_FIELD_ID,
	THRIFT_READ_NUMBER,
	THRIFT_LENGTH,
	THRIFT_LIST,
	THRIFT_LIST_SIZE
};
enum { THRIFT_LIST_LONG = 15, PATH_FIELD_MAX = 15 };

uint64_t thrift_path(const struct thrift *t)
{
	uint16_t field = t->field[t->depth];

	if (t->element[t->depth])
		return t->path[t->depth];
	return t->path[t->depth] << 4 | (field < PATH_FIELD_MAX ? field : PATH_FIELD_MAX);
}

static bool thrift_push(struct thrift *t, uint8_t element, uint32_t left)
{
	uint64_t path = thrift_path(t);

	if (t->depth + 1 == THRIFT_DEPTH)
		return false;
	t->depth++;
	t->path[t->depth] = path;
	t->left[t->depth] = left;
	t->field[t->depth] = 0;
	t->element[t->depth] = element;
	return true;
}

/* Prepares for a value of the type. A field's boolean has no bytes of its own. */
static bool thrift_begin_value(struct thrift *t, uint8_t type)
{
	bool in_list = t->element[t->depth];

	t->state = THRIFT_FIELD;
	switch (type) {
	case THRIFT_TYPE_TRUE:
	case THRIFT_TYPE_FALSE:
		t->pass = in_list;
		return true;
	case THRIFT_TYPE_BYTE:
		t->pass = 1;
		return true;
	case THRIFT_TYPE_DOUBLE:
		t->pass = 8;
		return true;
	case THRIFT_TYPE_BINARY:
		t->state = THRIFT_LENGTH;
		return true;
	case THRIFT_TYPE_LIST:
	case THRIFT_TYPE_SET:
		t->state = THRIFT_LIST;
		return true;
	case THRIFT_TYPE_STRUCT:
		return thrift_push(t, 0, 0);
	default:
		t->state = THRIFT_READ_NUMBER;
		return type >= THRIFT_TYPE_I16 && type <= THRIFT_TYPE_I64;
	}
}

/* A value has ended: the next element of its list begins, or the list has ended too, or a field is
 * next. */
static bool thrift_end_value(struct thrift *t)
{
	t->state = THRIFT_FIELD;
	while (t->element[t->depth]) {
		if (--t->left[t->depth])
			return thrift_begin_value(t, t->element[t->depth]);
		t->depth--;
	}
	return true;
}

static bool thrift_begin_list(struct thrift *t, uint64_t size)
{
	if (!size)
		return thrift_end_value(t);
	return size <= UINT32_MAX && thrift_push(t, t->type, (uint32_t)size) &&
	       thrift_begin_value(t, t->type);
}

/* Numbers of fields are signed, of 16 bits. */
static bool thrift_move_field(struct thrift *t, uint64_t field)
{
	t->field[t->depth] = (uint16_t)field;
	return field <= INT16_MAX;
}

static bool thrift_take_field(struct thrift *t, uint8_t byte)
{
	uint8_t type = byte & 15;

	if (!byte) {
		t->depth--;
		return thrift_end_value(t);
	}
	if (!(byte >> 4)) {
		t->type = type;
		t->state = THRIFT_FIELD_ID;
		return true;
	}
	return thrift_move_field(t, t->field[t->depth] + (byte >> 4)) &&
	       thrift_begin_value(t, type);
}

static bool thrift_take_list(struct thrift *t, uint8_t byte)
{
	t->type = byte & 15;
	if (!t->type)
		return false;
	if (byte >> 4 == THRIFT_LIST_LONG) {
		t->state = THRIFT_LIST_SIZE;
		return true;
	}
	return thrift_begin_list(t, byte >> 4);
}

/* A varint has ended that is not a value. */
static bool thrift_take_number(struct thrift *t, uint64_t value)
{
	if (t->state == THRIFT_FIELD_ID) {
		return thrift_move_field(t, value >> 1) && thrift_begin_value(t, t->type);
	}
	if (t->state == THRIFT_LIST_SIZE)
		return thrift_begin_list(t, value);
	t->state = THRIFT_FIELD;
	t->pass = value;
	return value || thrift_end_value(t);
}

static enum thrift_event thrift_take(struct thrift *t, uint8_t byte)
{
	bool good = true;

	if (t->state == THRIFT_FIELD) {
		if (!byte && !t->depth)
			return THRIFT_OVER;
		good = thrift_take_field(t, byte);
	} else if (t->state == THRIFT_LIST) {
		good = thrift_take_list(t, byte);
	} else {
		if (t->shift > 63)
			return THRIFT_WRONG;
		t->value |= (uint64_t)(byte & 0x7f) << t->shift;
		t->shift += 7;
		if (byte & 0x80)
			return THRIFT_MORE;
		t->number = t->state == THRIFT_READ_NUMBER;
		if (t->number)
			return THRIFT_NUMBER;
		good = thrift_take_number(t, t->value);
		t->value = 0;
		t->shift = 0;
	}
	return good ? THRIFT_MORE : THRIFT_WRONG;
}

enum thrift_event thrift_next(struct thrift *t, const uint8_t **at, const uint8_t *end)
{
	enum thrift_event event = THRIFT_MORE;

	if (t->number) {
		t->number = false;
		t->value = 0;
		t->shift = 0;
		if (!thrift_end_value(t))
			return THRIFT_WRONG;
	}
	while (*at < end && event == THRIFT_MORE) {
		uint64_t left = (uint64_t)(end - *at), n = t->pass < left ? t->pass : left;

		if (!n) {
			event = thrift_take(t, *(*at)++);
			continue;
		}
		*at += n;
		t->pass -= n;
		if (!t->pass && !thrift_end_value(t))
			event = THRIFT_WRONG;
	}
	return event;
}
