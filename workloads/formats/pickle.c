/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/formats/pickle.h"

#include <string.h>

#include "core/invariant.h"
#include "workloads/formats/payload.h"

/* Opcodes with arguments. */
enum {
	OP_BININT = 'J',
	OP_BININT1 = 'K',
	OP_BININT2 = 'M',
	OP_BINUNICODE = 'X',
	OP_GLOBAL = 'c',
	OP_BINGET = 'h',
	OP_LONG_BINGET = 'j',
	OP_BINPUT = 'q',
	OP_LONG_BINPUT = 'r',
	OP_PROTO = 0x80,
	OP_LONG1 = 0x8a,
	OP_SHORT_BINUNICODE = 0x8c,
	OP_STACK_GLOBAL = 0x93,
	OP_MEMOIZE = 0x94
};

static void put_bytes(struct pickle *p, const void *bytes, uint64_t n)
{
	if (p->out)
		memcpy(p->out + p->bytes, bytes, n);
	p->bytes += n;
}

/* An opcode with a number behind it, in 1, 2 or 4 bytes. */
static void put_number(struct pickle *p, uint8_t op, uint64_t value, unsigned bytes)
{
	uint8_t little[sizeof(value)];

	pickle_op(p, op);
	put_little(little, value, bytes);
	put_bytes(p, little, bytes);
}

/* In one byte, or four. */
static void put_index(struct pickle *p, uint8_t op, uint8_t op_long, uint64_t value)
{
	if (value <= UINT8_MAX)
		put_number(p, op, value, 1);
	else
		put_number(p, op_long, value, 4);
}

void pickle_begin(struct pickle *p)
{
	put_number(p, OP_PROTO, p->protocol, 1);
}

void pickle_op(struct pickle *p, uint8_t op)
{
	put_bytes(p, &op, 1);
}

void pickle_keep(struct pickle *p)
{
	if (p->protocol >= 4)
		pickle_op(p, OP_MEMOIZE);
	else
		put_index(p, OP_BINPUT, OP_LONG_BINPUT, p->kept);
	p->kept++;
}

void pickle_kept(struct pickle *p, uint8_t op)
{
	pickle_op(p, op);
	pickle_keep(p);
}

static void put_text(struct pickle *p, const char *text, uint64_t n)
{
	if (p->protocol >= 4)
		put_index(p, OP_SHORT_BINUNICODE, OP_BINUNICODE, n);
	else
		put_number(p, OP_BINUNICODE, n, 4);
	put_bytes(p, text, n);
	pickle_keep(p);
}

void pickle_text(struct pickle *p, const char *text)
{
	put_text(p, text, strlen(text));
}

void pickle_get(struct pickle *p, uint32_t number)
{
	put_index(p, OP_BINGET, OP_LONG_BINGET, number);
}

bool pickle_again(struct pickle *p, unsigned object)
{
	INVARIANT(object < PICKLE_OBJECTS_MAX, "the table of numbers has room for the object");
	if (p->numbers[object])
		pickle_get(p, p->numbers[object] - 1);
	return p->numbers[object];
}

void pickle_keep_as(struct pickle *p, unsigned object)
{
	p->numbers[object] = p->kept + 1;
	pickle_keep(p);
}

void pickle_object(struct pickle *p, unsigned object)
{
	const char *text = p->texts[object], *name = strchr(text, '\n');

	if (pickle_again(p, object))
		return;
	if (name && p->protocol >= 4) {
		put_text(p, text, (uint64_t)(name - text));
		put_text(p, name + 1, strlen(name + 1) - 1);
		pickle_op(p, OP_STACK_GLOBAL);
	} else if (name) {
		pickle_op(p, OP_GLOBAL);
		put_bytes(p, text, strlen(text));
	}
	if (name) {
		pickle_keep_as(p, object);
		return;
	}
	p->numbers[object] = p->kept + 1;
	pickle_text(p, text);
}

void pickle_whole(struct pickle *p, uint64_t value)
{
	uint8_t little[sizeof(value)];
	unsigned bytes = 4;

	if (value <= UINT8_MAX) {
		put_number(p, OP_BININT1, value, 1);
	} else if (value <= UINT16_MAX) {
		put_number(p, OP_BININT2, value, 2);
	} else if (value <= INT32_MAX) {
		put_number(p, OP_BININT, value, 4);
	} else {
		while (bytes < sizeof(value) && value >> (8 * bytes - 1))
			bytes++;
		put_number(p, OP_LONG1, bytes, 1);
		put_little(little, value, bytes);
		put_bytes(p, little, bytes);
	}
}

void pickle_wholes(struct pickle *p, const uint64_t *values, uint32_t count)
{
	INVARIANT(count <= 2, "tuples of three and more have other opcodes");
	if (count == 0) {
		pickle_op(p, PICKLE_EMPTY_TUPLE);
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		pickle_whole(p, values[i]);
	pickle_kept(p, count == 1 ? PICKLE_TUPLE1 : PICKLE_TUPLE2);
}
