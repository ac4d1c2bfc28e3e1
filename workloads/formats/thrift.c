#include "workloads/formats/thrift.h"

enum { FIELD, FIELD_ID, NUMBER, LENGTH, LIST, LIST_SIZE };
enum {
	TYPE_TRUE = 1,
	TYPE_FALSE = 2,
	TYPE_BYTE = 3,
	TYPE_I16 = 4,
	TYPE_I64 = 6,
	TYPE_DOUBLE = 7,
	TYPE_BINARY = 8,
	TYPE_LIST = 9,
	TYPE_SET = 10,
	TYPE_STRUCT = 12,
	LIST_LONG = 15,
	PATH_FIELD_MAX = 15
};

uint64_t thrift_path(const struct thrift *t)
{
	uint32_t field = t->levels[t->depth].field;

	if (t->levels[t->depth].element)
		return t->levels[t->depth].path;
	return t->levels[t->depth].path << 4 | (field < PATH_FIELD_MAX ? field : PATH_FIELD_MAX);
}

static bool push(struct thrift *t, uint8_t element, uint64_t left)
{
	uint64_t path = thrift_path(t);

	if (t->depth + 1 == THRIFT_DEPTH)
		return false;
	t->depth++;
	t->levels[t->depth].path = path;
	t->levels[t->depth].left = left;
	t->levels[t->depth].field = 0;
	t->levels[t->depth].element = element;
	return true;
}

/* What a value of the type is made of. One of no bytes is a field's boolean. */
static bool begin_value(struct thrift *t, uint8_t type)
{
	bool in_list = t->levels[t->depth].element;

	t->state = FIELD;
	switch (type) {
	case TYPE_TRUE:
	case TYPE_FALSE:
		t->pass = in_list;
		return true;
	case TYPE_BYTE:
		t->pass = 1;
		return true;
	case TYPE_DOUBLE:
		t->pass = 8;
		return true;
	case TYPE_BINARY:
		t->state = LENGTH;
		return true;
	case TYPE_LIST:
	case TYPE_SET:
		t->state = LIST;
		return true;
	case TYPE_STRUCT:
		return push(t, 0, 0);
	default:
		t->state = NUMBER;
		return type >= TYPE_I16 && type <= TYPE_I64;
	}
}

/* A value has ended: the next element of its list begins, or the list has ended too, or a field is next. */
static bool end_value(struct thrift *t)
{
	t->state = FIELD;
	while (t->levels[t->depth].element) {
		if (--t->levels[t->depth].left)
			return begin_value(t, t->levels[t->depth].element);
		t->depth--;
	}
	return true;
}

static bool begin_list(struct thrift *t, uint64_t size)
{
	if (!size)
		return end_value(t);
	return push(t, t->type, size) && begin_value(t, t->type);
}

static bool take_field(struct thrift *t, uint8_t byte)
{
	uint8_t type = byte & 15;

	if (!byte) {
		t->depth--;
		return end_value(t);
	}
	if (!(byte >> 4)) {
		t->type = type;
		t->state = FIELD_ID;
		return true;
	}
	t->levels[t->depth].field += byte >> 4;
	return begin_value(t, type);
}

static bool take_list(struct thrift *t, uint8_t byte)
{
	t->type = byte & 15;
	if (!t->type)
		return false;
	if (byte >> 4 == LIST_LONG) {
		t->state = LIST_SIZE;
		return true;
	}
	return begin_list(t, byte >> 4);
}

/* A varint has ended that is no value. */
static bool take_number(struct thrift *t, uint64_t value)
{
	if (t->state == FIELD_ID) {
		t->levels[t->depth].field = (uint32_t)(value >> 1);
		return begin_value(t, t->type);
	}
	if (t->state == LIST_SIZE)
		return begin_list(t, value);
	t->state = FIELD;
	t->pass = value;
	return value || end_value(t);
}

static enum thrift_event take(struct thrift *t, uint8_t byte)
{
	bool good = true;

	if (t->state == FIELD) {
		if (!byte && !t->depth)
			return THRIFT_OVER;
		good = take_field(t, byte);
	} else if (t->state == LIST) {
		good = take_list(t, byte);
	} else {
		if (t->shift > 63)
			return THRIFT_WRONG;
		t->value |= (uint64_t)(byte & 0x7f) << t->shift;
		t->shift += 7;
		if (byte & 0x80)
			return THRIFT_MORE;
		t->number = t->state == NUMBER;
		if (t->number)
			return THRIFT_NUMBER;
		good = take_number(t, t->value);
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
		if (!end_value(t))
			return THRIFT_WRONG;
	}
	while (*at < end && event == THRIFT_MORE) {
		uint64_t left = (uint64_t)(end - *at), n = t->pass < left ? t->pass : left;

		if (!n) {
			event = take(t, *(*at)++);
			continue;
		}
		*at += n;
		t->pass -= n;
		if (!t->pass && !end_value(t))
			event = THRIFT_WRONG;
	}
	return event;
}
