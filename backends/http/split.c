/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/slot.h"

#include <string.h>

#include "core/numbers.h"

/* The largest character of Unicode: a text and this one come after everything that begins with the
 * text. */
static const char split_beyond[] = "\xf4\x8f\xbf\xbf";

enum { SPLIT_BYTE_MAX = 0xf4 };

/* The characters that names use, in their order, and how many of them are counted with. */
static const struct split_alphabet {
	const char *characters;
	uint32_t digits;
} split_alphabets[] = {
	{"0123456789", 12},
	{"0123456789abcdef", 10},
	{"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 6},
	{"!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz"
	 "{|}~",
	 6},
};

void split_begin(struct split *s)
{
	*s = (struct split){.stage = SPLIT_FIRST};
}

/* The end of the kind of characters that c belongs to. */
static uint8_t split_kind_end(uint8_t c)
{
	if (c <= '9')
		return '9';
	return c <= 'Z' ? 'Z' : c <= 'z' ? 'z' : SPLIT_BYTE_MAX;
}

static void split_try_byte(struct split *s)
{
	uint8_t end = split_kind_end(s->low);

	s->trying = end < s->high ? end : (s->low + (uint32_t)s->high) / 2;
}

/* Begins to look for the largest character at this level; where there are enough of them, or the
 * name is at its end, the probes are over. */
static void split_next_level(struct split *s)
{
	uint32_t at = s->stem + s->level;

	if (s->level == SPLIT_LEVELS || strlen(s->largest_name) <= at) {
		s->stage = SPLIT_DONE;
		return;
	}
	s->stage = SPLIT_LARGEST;
	s->low = (uint8_t)s->largest_name[at];
	s->high = SPLIT_BYTE_MAX;
	if (s->low >= s->high)
		s->stage = SPLIT_DONE;
	else
		split_try_byte(s);
}

static void split_try_stem(struct split *s)
{
	if (s->stem < s->stem_max) {
		s->trying = (s->stem + s->stem_max + 1) / 2;
		return;
	}
	memcpy(s->largest_name, s->first, sizeof(s->first));
	split_next_level(s);
}

bool split_probe(const struct split *s, char after[SPLIT_NAME_BYTES])
{
	size_t n = 0;

	after[0] = '\0';
	if (s->stage == SPLIT_FIRST)
		return true;
	if (s->stage == SPLIT_DONE)
		return false;
	n = s->stage == SPLIT_STEM ? s->trying : s->stem;
	memcpy(after, s->first, n);
	if (s->stage == SPLIT_LARGEST) {
		memcpy(after + n, s->largest, s->level);
		n += s->level;
		after[n++] = (char)s->trying;
	}
	memcpy(after + n, split_beyond, sizeof(split_beyond));
	return true;
}

static uint32_t split_common(const char *a, const char *b)
{
	uint32_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

/* A name that does not begin as the first does bounds the stem. */
static void split_answer_stem(struct split *s, const char *name)
{
	if (name && split_common(s->first, name) < s->trying)
		s->stem_max = split_common(s->first, name);
	else
		s->stem = s->trying;
	if (s->stem_max < s->stem)
		s->stem_max = s->stem; /* the store does not sort names as it should */
	split_try_stem(s);
}

static void split_answer_largest(struct split *s, const char *name)
{
	uint32_t at = s->stem + s->level;
	bool larger = name && strlen(name) > at && strncmp(name, s->first, s->stem) == 0 &&
		      memcmp(name + s->stem, s->largest, s->level) == 0 &&
		      (uint8_t)name[at] > s->trying;

	if (larger) {
		s->low = (uint8_t)name[at];
		strcpy(s->largest_name, name);
	} else {
		s->high = (uint8_t)s->trying;
	}
	if (s->low < s->high) {
		split_try_byte(s);
		return;
	}
	s->largest[s->level++] = s->low;
	split_next_level(s);
}

void split_answer(struct split *s, const char *name)
{
	if (name && strlen(name) >= OBJECT_KEY_BYTES)
		name = NULL;
	switch (s->stage) {
	case SPLIT_FIRST:
		if (!name) {
			s->stage = SPLIT_DONE;
			return;
		}
		strcpy(s->first, name);
		s->stage = SPLIT_STEM;
		s->stem_max = (uint32_t)strlen(name);
		split_try_stem(s);
		return;
	case SPLIT_STEM:
		split_answer_stem(s, name);
		return;
	case SPLIT_LARGEST:
		split_answer_largest(s, name);
		return;
	default:
		return;
	}
}

static bool split_spells(const struct split_alphabet *a, char c)
{
	return c && strchr(a->characters, c);
}

static const struct split_alphabet *split_alphabet_of(const struct split *s)
{
	const struct split_alphabet *a = split_alphabets;
	size_t count = COUNT(split_alphabets);

	for (; a < split_alphabets + count - 1; a++) {
		bool all = true;

		for (uint32_t i = 0; i < s->level; i++)
			all = all && split_spells(a, (char)s->largest[i]) &&
			      (!s->first[s->stem + i] || split_spells(a, s->first[s->stem + i]));
		if (all)
			break;
	}
	return a;
}

/* The digit that a character counts as: characters that are not in the alphabet as the one before
 * them. */
static uint64_t split_digit(const struct split_alphabet *a, char c)
{
	uint64_t digit = 0;

	while (a->characters[digit + 1] && (uint8_t)a->characters[digit + 1] <= (uint8_t)c)
		digit++;
	return digit;
}

/* The number that a text is in that alphabet; where it is too short, the missing digits are
 * missing. */
static uint64_t split_number(const struct split_alphabet *a, const char *text, uint64_t missing)
{
	uint64_t base = strlen(a->characters), value = 0;

	for (uint32_t i = 0; i < a->digits; i++) {
		value = value * base + (*text ? split_digit(a, *text) : missing);
		text += *text != '\0';
	}
	return value;
}

/* The text up to which the parts before part reach, that one not included; "" for the first and
 * behind the last. */
static void split_bound(const struct split *s, uint32_t part, uint32_t parts,
			char out[SPLIT_NAME_BYTES])
{
	const struct split_alphabet *a = split_alphabet_of(s);
	uint64_t base = strlen(a->characters), low, high, value;
	char largest[SPLIT_LEVELS + 1] = "";

	out[0] = '\0';
	if (part == 0 || part >= parts)
		return;
	memcpy(largest, s->largest, s->level);
	low = split_number(a, s->first + s->stem, 0);
	high = split_number(a, largest, base - 1);
	value = low + (high > low
			       ? (high - low) / parts * part + (high - low) % parts * part / parts
			       : 0);
	memcpy(out, s->first, s->stem);
	out[s->stem + a->digits] = '\0';
	for (uint32_t i = a->digits; i; i--) {
		out[s->stem + i - 1] = a->characters[value % base];
		value /= base;
	}
}

bool split_range(const struct split *s, uint32_t part, uint32_t parts, char after[SPLIT_NAME_BYTES],
		 char until[SPLIT_NAME_BYTES])
{
	split_bound(s, part, parts, after);
	split_bound(s, part + 1, parts, until);
	return s->first[0];
}

bool split_has(const char *after, const char *until, const char *name)
{
	return (!after[0] || strcmp(name, after) > 0) && (!until[0] || strcmp(name, until) <= 0);
}
