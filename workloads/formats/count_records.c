/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a file, counted: records that follow each other, and what an index says, which must be
 * that of this file: each sample lies in it, and the last one ends where it does. See count.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/content/crc32c.h"
#include "workloads/formats/count.h"
#include "workloads/formats/payload.h"
#include "workloads/formats/walk.h"

enum {
	COUNT_RECORD_HEAD_BYTES = 12,  /* length, its checksum */
	COUNT_RECORD_FRAME_BYTES = 16, /* and the data's checksum */
	COUNT_RECORDS_MAX = 65536,     /* that are followed from one to the next */
	COUNT_ENTRY_BYTES = 8,
	COUNT_PAIR_FRONT_BYTES = 34, /* of a Megatron index */
	COUNT_SAFETENSORS_HEADER_MAX = 100 << 20
};

static uint32_t piece_of(uint64_t left)
{
	return (uint32_t)(left < COUNT_PIECE_BYTES ? left : COUNT_PIECE_BYTES);
}

static const char records_are_cut[] =
	"holds a record that ends behind the file's end: it is cut short, or no tfrecord";
static const char records_are_wrong[] =
	"holds a record whose length has another checksum: it is damaged, or no tfrecord";

/* The record at that place: its bytes with what is around them; 0: there is none. */
static int record_bytes(const struct count_file *f, uint64_t at, uint64_t *bytes,
			const char **wrong)
{
	uint8_t head[COUNT_RECORD_HEAD_BYTES];
	uint32_t sum;
	int rc;

	*bytes = 0;
	*wrong = records_are_cut;
	if (f->size - at < COUNT_RECORD_FRAME_BYTES)
		return 0;
	rc = f->read(f->user, at, head, sizeof(head));
	if (rc < 0)
		return rc;
	sum = crc32c_end(crc32c_add(CRC32C_BEGIN, head, 8));
	sum = (sum >> 15 | sum << 17) + 0xa282ead8; /* as TFRecord masks it */
	if (walk_little(head + 8, 4) != sum) {
		*wrong = records_are_wrong;
		return 0;
	}
	*bytes = walk_little(head, 8);
	if (*bytes > f->size - at - COUNT_RECORD_FRAME_BYTES) {
		*bytes = 0;
		return 0;
	}
	*bytes += COUNT_RECORD_FRAME_BYTES;
	*wrong = NULL;
	return 0;
}

/* The lines "offset length" of an index, as they come. */
struct record_lines {
	uint64_t number[2], end, count;
	unsigned field; /* of the line */
	bool digits, wrong;
};

static void record_line_end(struct record_lines *l)
{
	if (l->field == 1 && l->digits) {
		l->wrong = l->wrong || l->number[0] != l->end;
		l->end += l->number[1];
		l->count++;
	} else if (l->field || l->digits) {
		l->wrong = true;
	}
	l->field = 0;
	l->digits = false;
	l->number[0] = l->number[1] = 0;
}

static void record_lines_take(struct record_lines *l, const uint8_t *at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (at[i] == '\n') {
			record_line_end(l);
		} else if (at[i] == ' ' && l->field == 0 && l->digits) {
			l->field = 1;
			l->digits = false;
		} else if (at[i] >= '0' && at[i] <= '9') {
			l->number[l->field] = l->number[l->field] * 10 + (uint64_t)(at[i] - '0');
			l->digits = true;
		} else if (at[i] != '\r') {
			l->wrong = true;
		}
	}
}

/* The index of a file of records, one line each, as its readers make it. -ENOENT: there is none. */
static int record_index(const struct count_file *f, uint64_t *samples, const char **wrong)
{
	uint8_t bytes[COUNT_PIECE_BYTES];
	struct record_lines lines = {.count = 0};
	uint64_t size = 0;
	int rc = f->beside(f->user, 0, ".idx", false, &size);

	if (rc == -ENOENT)
		rc = f->beside(f->user, 0, ".idx", true, &size);
	if (rc == -ENOENT)
		rc = f->beside(f->user, 0, ".index", false, &size);
	for (uint64_t at = 0; rc == 0 && at < size; at += piece_of(size - at)) {
		rc = f->read_side(f->user, 0, at, bytes, piece_of(size - at));
		if (rc == 0)
			record_lines_take(&lines, bytes, piece_of(size - at));
	}
	if (rc < 0)
		return rc;
	record_line_end(&lines);
	if (lines.wrong || lines.end != f->size)
		*wrong =
			"is not the file that the index beside it describes: it is cut short, or the "
			"index is another file's";
	else
		*samples = lines.count;
	return 0;
}

/* By the index, where there is one, else one by one. */
int tfrecord_count(const struct count_file *f, uint64_t *samples, const char **wrong)
{
	uint64_t at, bytes = 0, n = 0;
	const char *found = NULL;
	int rc;

	*samples = 0;
	*wrong = NULL;
	/* Without a first record the file is no tfrecord at all, and nothing can be told of it. */
	rc = record_bytes(f, 0, &bytes, &found);
	if (rc < 0)
		return rc;
	if (!bytes && found == records_are_wrong)
		return 0;
	rc = record_index(f, samples, wrong);
	if (rc != -ENOENT)
		return rc;
	rc = 0;
	for (at = 0; rc == 0 && at < f->size && n < COUNT_RECORDS_MAX; at += bytes, n++) {
		rc = record_bytes(f, at, &bytes, wrong);
		if (*wrong)
			return rc;
	}
	if (rc == 0 && at == f->size)
		*samples = n;
	return rc;
}

static const char index_is_missing[] =
	"has no index beside it (.off.idx and .sz.idx, or .idx in place of its ending), by which its "
	"samples are found";
static const char index_is_cut[] = "has an index beside it that is cut short";
static const char index_is_other[] =
	"is not the file that the index beside it describes: it is cut short, or the index is another "
	"file's";

/* Bytes of an element, by its code in a Megatron index. */
static const uint8_t pair_elements[] = {0, 1, 1, 2, 4, 8, 8, 4, 2};

struct pair {
	uint64_t sequences, documents, element, index_bytes;
	uint64_t bytes; /* of the sequences so far */
	bool wrong;
};

/* Where sequences begin must follow from how long they are: the two lists are read side by side. */
static int pair_sequences(const struct count_file *f, struct pair *p)
{
	uint8_t lengths[COUNT_PIECE_BYTES / 2], begins[COUNT_PIECE_BYTES];
	uint64_t begins_at = COUNT_PAIR_FRONT_BYTES + 4 * p->sequences;
	int rc = 0;

	for (uint64_t i = 0, n; rc == 0 && i < p->sequences && !p->wrong; i += n) {
		n = p->sequences - i < sizeof(lengths) / 4 ? p->sequences - i : sizeof(lengths) / 4;
		rc = f->read_side(f->user, 0, COUNT_PAIR_FRONT_BYTES + 4 * i, lengths,
				  (uint32_t)(4 * n));
		if (rc == 0)
			rc = f->read_side(f->user, 0, begins_at + 8 * i, begins, (uint32_t)(8 * n));
		for (uint64_t k = 0; rc == 0 && k < n; k++) {
			p->wrong = p->wrong || walk_little(begins + 8 * k, 8) != p->bytes;
			p->bytes += walk_little(lengths + 4 * k, 4) * p->element;
		}
	}
	return rc;
}

/* A pair as Megatron writes it: the tokens, and their index under the same name with .idx. Its
 * sequences are the samples, or its documents where the job says so. */
static int pair_count(const struct count_file *f, uint64_t *samples, const char **wrong)
{
	uint8_t front[COUNT_PAIR_FRONT_BYTES];
	struct pair p = {.index_bytes = 0};
	int rc = f->beside(f->user, 0, ".idx", true, &p.index_bytes);

	*wrong = index_is_missing;
	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	*wrong = index_is_cut;
	if (p.index_bytes < sizeof(front))
		return 0;
	rc = f->read_side(f->user, 0, 0, front, sizeof(front));
	if (rc < 0)
		return rc;
	*wrong = index_is_other;
	if (memcmp(front, "MMIDIDX\0\0", 9) != 0 || !front[17] ||
	    front[17] >= sizeof(pair_elements))
		return 0;
	p.element = pair_elements[front[17]];
	p.sequences = walk_little(front + 18, 8);
	p.documents = walk_little(front + 26, 8);
	*wrong = index_is_cut;
	if (p.sequences > p.index_bytes / 12 || p.documents > p.index_bytes / 8 ||
	    p.index_bytes < COUNT_PAIR_FRONT_BYTES + 12 * p.sequences + 8 * p.documents)
		return 0;
	rc = pair_sequences(f, &p);
	*wrong = rc == 0 && (p.wrong || p.bytes != f->size) ? index_is_other : NULL;
	if (rc == 0 && !*wrong)
		*samples = p.documents == f->expected + 1 ? f->expected : p.sequences;
	return rc;
}

/* The two indexes side by side: samples follow each other, and the last ends where the file does.
 * What stands behind that one, where ranks have written an index together, is of no sample. */
static int indexed_entries(const struct count_file *f, uint64_t entries, uint64_t *samples,
			   const char **wrong)
{
	uint8_t begins[COUNT_PIECE_BYTES], sizes[COUNT_PIECE_BYTES];
	uint64_t end = 0, begin, size;
	int rc = 0;

	for (uint64_t i = 0, n; rc == 0 && i < entries && end < f->size; i += n) {
		n = piece_of((entries - i) * COUNT_ENTRY_BYTES) / COUNT_ENTRY_BYTES;
		rc = f->read_side(f->user, 0, i * COUNT_ENTRY_BYTES, begins,
				  (uint32_t)(n * COUNT_ENTRY_BYTES));
		if (rc == 0)
			rc = f->read_side(f->user, 1, i * COUNT_ENTRY_BYTES, sizes,
					  (uint32_t)(n * COUNT_ENTRY_BYTES));
		for (uint64_t k = 0; rc == 0 && k < n && end < f->size; k++) {
			begin = walk_little(begins + k * COUNT_ENTRY_BYTES, COUNT_ENTRY_BYTES);
			size = walk_little(sizes + k * COUNT_ENTRY_BYTES, COUNT_ENTRY_BYTES);
			if (begin != end || !size || size > f->size - begin) {
				*wrong = index_is_other;
				return 0;
			}
			end = begin + size;
			++*samples;
		}
	}
	if (rc == 0 && (end != f->size || entries - *samples > entries / 100))
		*wrong = index_is_other;
	return rc;
}

int indexed_count(const struct count_file *f, uint64_t *samples, const char **wrong)
{
	uint64_t begins = 0, sizes = 0;
	int rc = f->beside(f->user, 0, ".off.idx", false, &begins), sizes_rc;

	*samples = 0;
	*wrong = NULL;
	if (rc < 0 && rc != -ENOENT)
		return rc;
	sizes_rc = f->beside(f->user, 1, ".sz.idx", false, &sizes);
	if (rc == -ENOENT && sizes_rc == -ENOENT)
		return pair_count(f, samples, wrong);
	if (rc == -ENOENT || sizes_rc == -ENOENT)
		*wrong = index_is_missing;
	else if (sizes_rc < 0)
		return sizes_rc;
	else if (begins != sizes || begins % COUNT_ENTRY_BYTES)
		*wrong = index_is_cut;
	return *wrong ? 0 : indexed_entries(f, begins / COUNT_ENTRY_BYTES, samples, wrong);
}

/* The header as it comes: names of tensors, and where the last of their bytes are. */
struct tensors_seen {
	char name[16]; /* the last text, as much of it as has room */
	uint32_t have;
	uint64_t count, number, end;
	unsigned depth;
	bool text, escaped, key, offsets;
};

static void tensors_text_end(struct tensors_seen *s)
{
	s->name[s->have < sizeof(s->name) ? s->have : sizeof(s->name) - 1] = '\0';
	s->text = false;
	if (s->depth == 1 && s->key && strcmp(s->name, "__metadata__") != 0)
		s->count++;
}

static void tensors_take(struct tensors_seen *s, uint8_t c)
{
	if (s->text) {
		if (s->escaped || c == '\\')
			s->escaped = !s->escaped;
		else if (c == '"')
			tensors_text_end(s);
		if (s->text && s->have < sizeof(s->name) - 1)
			s->name[s->have] = (char)c;
		s->have += s->text;
		return;
	}
	if (c >= '0' && c <= '9') {
		s->number = s->number * 10 + (uint64_t)(c - '0');
		return;
	}
	if (s->offsets && s->number > s->end)
		s->end = s->number;
	s->number = 0;
	s->depth += c == '{';
	s->depth -= c == '}' && s->depth;
	s->offsets = c == '[' ? strcmp(s->name, "data_offsets") == 0 : s->offsets && c != ']';
	s->key = c == '{' || c == ',' || (s->key && c != ':');
	if (c == '"') {
		s->text = true;
		s->have = 0;
	}
}

/* One tensor per sample. The bytes of the tensors end where the file does. */
int safetensors_count(const struct count_file *f, uint64_t *samples, const char **wrong)
{
	uint8_t bytes[COUNT_PIECE_BYTES];
	struct tensors_seen seen = {.count = 0};
	uint64_t length;
	int rc = f->size < 8 ? 0 : f->read(f->user, 0, bytes, 8);

	*samples = 0;
	*wrong = "ends within its header: it is cut short, or no safetensors file";
	if (rc < 0 || f->size < 8)
		return rc;
	length = walk_little(bytes, 8);
	if (length > f->size - 8 || length > COUNT_SAFETENSORS_HEADER_MAX)
		return 0;
	for (uint64_t at = 0, n; rc == 0 && at < length; at += n) {
		n = piece_of(length - at);
		rc = f->read(f->user, 8 + at, bytes, (uint32_t)n);
		for (uint64_t i = 0; rc == 0 && i < n; i++)
			tensors_take(&seen, bytes[i]);
	}
	*wrong = rc == 0 && seen.end != f->size - 8 - length
			 ? "does not end where its last tensor does: it is cut short, or damaged"
			 : NULL;
	*samples = *wrong ? 0 : seen.count;
	return rc;
}
