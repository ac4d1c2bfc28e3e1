/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/checkpoint/metadata.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "workloads/formats/pickle.h"

/* clang-format off */
#define MODULE "torch.distributed.checkpoint."
#define OBJECTS(X) \
	X(METADATA, MODULE "metadata\nMetadata\n") \
	X(METADATA_INDEX, MODULE "metadata\nMetadataIndex\n") \
	X(TENSOR_METADATA, MODULE "metadata\nTensorStorageMetadata\n") \
	X(CHUNK_METADATA, MODULE "metadata\nChunkStorageMetadata\n") \
	X(PROPERTIES_CLASS, MODULE "metadata\nTensorProperties\n") \
	X(STORAGE_META_CLASS, MODULE "metadata\nStorageMeta\n") \
	X(MEM_FORMAT, MODULE "metadata\n_MEM_FORMAT_ENCODING\n") \
	X(STORAGE_INFO, MODULE "filesystem\n_StorageInfo\n") \
	X(SAVE_PLAN, MODULE "planner\nSavePlan\n") \
	X(WRITE_ITEM, MODULE "planner\nWriteItem\n") \
	X(WRITE_ITEM_TYPE, MODULE "planner\nWriteItemType\n") \
	X(TENSOR_WRITE_DATA, MODULE "planner\nTensorWriteData\n") \
	X(WRITE_RESULT, MODULE "storage\nWriteResult\n") \
	X(SIZE_CLASS, "torch\nSize\n") \
	X(GET_LAYOUT, "torch.serialization\n_get_layout\n") \
	X(STRIDED, "torch.strided") \
	X(CONTIGUOUS, "") \
	X(SHARD, "") \
	X(K_STATE_DICT, "state_dict_metadata") X(K_PLANNER, "planner_data") X(K_STORAGE, "storage_data") \
	X(K_STORAGE_META, "storage_meta") X(K_VERSION, "version") X(K_PROPERTIES, "properties") \
	X(K_SIZE, "size") X(K_CHUNKS, "chunks") X(K_CHUNK, "chunk") X(K_OFFSETS, "offsets") X(K_SIZES, "sizes") \
	X(K_FQN, "fqn") X(K_OFFSET, "offset") X(K_INDEX, "index") X(K_PATH, "relative_path") \
	X(K_LENGTH, "length") X(K_TRANSFORMS, "transform_descriptors") X(K_ITEMS, "items") X(K_TYPE, "type") \
	X(K_USABLE, "usable") X(K_BYTES_IO, "bytes_io_data") X(K_TENSOR_DATA, "tensor_data") \
	X(K_SIZE_IN_BYTES, "size_in_bytes")
/* clang-format on */
#define OBJECT(id, text)      id,
#define OBJECT_TEXT(id, text) [id] = text,
enum metadata_object { OBJECTS(OBJECT) DTYPES, OBJECT_COUNT = DTYPES + MODEL_TYPE_COUNT };
_Static_assert((int)OBJECT_COUNT <= (int)PICKLE_OBJECTS_MAX, "numbers of all objects");

/* Four-bit numbers are two to a byte. */
static const char *const texts[OBJECT_COUNT] = {
	OBJECTS(OBJECT_TEXT)[DTYPES + MODEL_FP64] = "torch\nfloat64\n",
	[DTYPES + MODEL_FP32] = "torch\nfloat32\n",
	[DTYPES + MODEL_FP16] = "torch\nfloat16\n",
	[DTYPES + MODEL_BF16] = "torch\nbfloat16\n",
	[DTYPES + MODEL_FP8] = "torch\nfloat8_e4m3fn\n",
	[DTYPES + MODEL_INT8] = "torch\nint8\n",
	[DTYPES + MODEL_UINT8] = "torch\nuint8\n",
	[DTYPES + MODEL_INT4] = "torch\nuint8\n",
};

void metadata_file_name(uint64_t rank, char *name, size_t bytes)
{
	snprintf(name, bytes, "__%" PRIu64 "_0.distcp", rank);
}

/* An instance without its state; then that, as a dictionary. */
static void put_instance(struct pickle *p, unsigned class)
{
	pickle_object(p, class);
	pickle_op(p, PICKLE_EMPTY_TUPLE);
	pickle_kept(p, PICKLE_NEWOBJ);
}

static void begin_fields(struct pickle *p, unsigned class)
{
	put_instance(p, class);
	pickle_kept(p, PICKLE_EMPTY_DICT);
	pickle_op(p, PICKLE_MARK);
}

static void end_fields(struct pickle *p)
{
	pickle_op(p, PICKLE_SETITEMS);
	pickle_op(p, PICKLE_BUILD);
}

static void put_size(struct pickle *p, unsigned key, const uint64_t *values, uint32_t count)
{
	pickle_object(p, key);
	pickle_object(p, SIZE_CLASS);
	pickle_wholes(p, values, count);
	pickle_kept(p, PICKLE_TUPLE1);
	pickle_kept(p, PICKLE_REDUCE);
}

static void put_none(struct pickle *p, unsigned key)
{
	pickle_object(p, key);
	pickle_op(p, PICKLE_NONE);
}

static void put_properties(struct pickle *p, enum model_type type)
{
	pickle_object(p, K_PROPERTIES);
	put_instance(p, PROPERTIES_CLASS);
	pickle_op(p, PICKLE_MARK);
	pickle_object(p, DTYPES + (unsigned)type);
	if (!pickle_again(p, STRIDED)) {
		pickle_object(p, GET_LAYOUT);
		pickle_text(p, texts[STRIDED]);
		pickle_kept(p, PICKLE_TUPLE1);
		pickle_op(p, PICKLE_REDUCE);
		pickle_keep_as(p, STRIDED);
	}
	pickle_op(p, PICKLE_FALSE);
	if (!pickle_again(p, CONTIGUOUS)) {
		pickle_object(p, MEM_FORMAT);
		pickle_whole(p, 0);
		pickle_kept(p, PICKLE_TUPLE1);
		pickle_op(p, PICKLE_REDUCE);
		pickle_keep_as(p, CONTIGUOUS);
	}
	pickle_op(p, PICKLE_FALSE);
	pickle_kept(p, PICKLE_TUPLE);
	pickle_op(p, PICKLE_BUILD);
}

static void put_chunk(struct pickle *p, const struct state_entry *e, const struct state_chunk *c)
{
	begin_fields(p, CHUNK_METADATA);
	put_size(p, K_OFFSETS, c->offset, e->tensor.dimensions);
	put_size(p, K_SIZES, c->size, e->tensor.dimensions);
	end_fields(p);
}

/* A name that comes again in a plan, as the same object. names: the numbers of those that were written, by entry; NULL:
 * each is an object of its own. */
static void put_name(struct pickle *p, const struct state_entry *e, uint32_t *names)
{
	if (names && names[e->number]) {
		pickle_get(p, names[e->number] - 1);
		return;
	}
	pickle_text(p, e->tensor.name);
	if (names)
		names[e->number] = p->kept;
}

/* number: of the chunk among those of the entry; UINT64_MAX: not known yet. */
static void put_index(struct pickle *p, const struct state_entry *e, const struct state_chunk *c,
		      uint64_t number, uint32_t *names)
{
	begin_fields(p, METADATA_INDEX);
	pickle_object(p, K_FQN);
	put_name(p, e, names);
	put_size(p, K_OFFSET, c->offset, e->tensor.dimensions);
	pickle_object(p, K_INDEX);
	if (number == UINT64_MAX)
		pickle_op(p, PICKLE_NONE);
	else
		pickle_whole(p, number);
	end_fields(p);
}

/* An entry of the state dict, with the chunks that the ranks write. */
static void put_entry(struct pickle *p, const struct metadata_source *s, uint64_t number)
{
	const struct mesh *m = s->dict.mesh;
	struct state_entry e;
	bool any = false;

	state_entry_at(&s->dict, number, &e);
	for (uint64_t rank = s->first; rank < s->end; rank++) {
		struct mesh_place place;
		struct state_chunk c;
		bool writes;

		mesh_at(m, rank, &place);
		if (!state_chunk_of(&s->dict, &e, &place, &c, &writes) || !writes)
			continue;
		if (!any) {
			pickle_text(p, e.tensor.name);
			begin_fields(p, TENSOR_METADATA);
			put_properties(p, e.tensor.type);
			put_size(p, K_SIZE, e.tensor.shape, e.tensor.dimensions);
			pickle_object(p, K_CHUNKS);
			pickle_kept(p, PICKLE_EMPTY_LIST);
			pickle_op(p, PICKLE_MARK);
		}
		any = true;
		put_chunk(p, &e, &c);
	}
	if (!any)
		return;
	pickle_op(p, PICKLE_APPENDS);
	end_fields(p);
}

/* {name: (name,)} of all entries that the ranks write something of. */
static void put_planner(struct pickle *p, const struct metadata_source *s, uint32_t *names)
{
	pickle_object(p, K_PLANNER);
	pickle_kept(p, PICKLE_EMPTY_DICT);
	pickle_op(p, PICKLE_MARK);
	for (uint64_t i = 0; i < state_entries(&s->dict); i++) {
		struct state_entry e;

		state_entry_at(&s->dict, i, &e);
		put_name(p, &e, names);
		put_name(p, &e, names);
		pickle_kept(p, PICKLE_TUPLE1);
	}
	pickle_op(p, PICKLE_SETITEMS);
}

/* The file of one rank, laid out: what it writes, and where. */
struct rank_file {
	struct state_dict dict;
	struct mesh_place place;
	uint32_t *entries;
	struct archive archive;
	struct arena arena;
	uint32_t path; /* the number of its name in the pickle, + 1; 0: not yet there */
};

static void rank_file_tensor(const void *file, uint64_t t, struct tensor *out)
{
	const struct rank_file *f = file;

	state_tensor_of(&f->dict, &f->place, f->entries[t], out);
}

/* arena_free(&f->arena) ends it, also after an error. */
static int rank_file_open(struct rank_file *f, const struct metadata_source *s, uint64_t rank,
			  struct err *err)
{
	struct archive_tensors tensors = {.tensor = rank_file_tensor, .argument = f};

	*f = (struct rank_file){.dict = s->dict};
	mesh_at(s->dict.mesh, rank, &f->place);
	tensors.count = state_list(&f->dict, &f->place, NULL);
	f->entries = arena_alloc(&f->arena, (tensors.count + 1) * sizeof(*f->entries));
	if (!f->entries)
		return err_set(err, -ENOMEM, "no memory for the tensors of rank %" PRIu64, rank);
	state_list(&f->dict, &f->place, f->entries);
	return archive_make(&f->archive, s->archive, &tensors, &f->arena, err);
}

static void put_storage_info(struct pickle *p, struct rank_file *f, uint64_t item)
{
	const uint64_t *starts = f->archive.starts;
	uint64_t at = starts ? starts[item] : f->archive.offsets[item];
	uint64_t end = starts ? starts[item + 1] : f->archive.ends[item];
	char name[64];

	begin_fields(p, STORAGE_INFO);
	pickle_object(p, K_PATH);
	if (f->path) {
		pickle_get(p, f->path - 1);
	} else {
		metadata_file_name(f->place.rank, name, sizeof(name));
		pickle_text(p, name);
		f->path = p->kept;
	}
	pickle_object(p, K_OFFSET);
	pickle_whole(p, at);
	pickle_object(p, K_LENGTH);
	pickle_whole(p, end - at);
	put_none(p, K_TRANSFORMS);
	end_fields(p);
}

static void put_write_item(struct pickle *p, const struct state_entry *e,
			   const struct state_chunk *c, uint32_t *names)
{
	begin_fields(p, WRITE_ITEM);
	pickle_object(p, K_INDEX);
	put_index(p, e, c, UINT64_MAX, names);
	pickle_object(p, K_TYPE);
	if (!pickle_again(p, SHARD)) {
		pickle_object(p, WRITE_ITEM_TYPE);
		pickle_whole(p, 2);
		pickle_kept(p, PICKLE_TUPLE1);
		pickle_op(p, PICKLE_REDUCE);
		pickle_keep_as(p, SHARD);
	}
	put_none(p, K_BYTES_IO);
	pickle_object(p, K_TENSOR_DATA);
	begin_fields(p, TENSOR_WRITE_DATA);
	pickle_object(p, K_CHUNK);
	put_chunk(p, e, c);
	put_properties(p, e->tensor.type);
	put_size(p, K_SIZE, e->tensor.shape, e->tensor.dimensions);
	end_fields(p);
	end_fields(p);
}

static void put_write_result(struct pickle *p, struct rank_file *f, uint64_t item,
			     const struct state_entry *e, const struct state_chunk *c,
			     uint64_t number)
{
	begin_fields(p, WRITE_RESULT);
	pickle_object(p, K_INDEX);
	put_index(p, e, c, number, NULL);
	pickle_object(p, K_SIZE_IN_BYTES);
	pickle_whole(p, f->archive.ends[item] - f->archive.offsets[item]);
	pickle_object(p, K_STORAGE);
	put_storage_info(p, f, item);
	end_fields(p);
}

/* Something of each tensor that a rank writes. words: of each entry, how many ranks before have written; in a plan, the
 * number of its name. */
static int put_items(struct pickle *p, const struct metadata_source *s, enum metadata_kind kind,
		     uint64_t rank, uint32_t *words, struct err *err)
{
	struct rank_file f;
	int rc = rank_file_open(&f, s, rank, err);

	for (uint64_t i = 0; rc == 0 && i < f.archive.tensors.count; i++) {
		struct state_entry e;
		struct state_chunk c;
		bool writes;

		state_entry_at(&s->dict, f.entries[i], &e);
		state_chunk_of(&s->dict, &e, &f.place, &c, &writes);
		if (kind == METADATA_PLAN) {
			put_write_item(p, &e, &c, words);
		} else if (kind == METADATA_RESULTS) {
			put_write_result(p, &f, i, &e, &c, words[e.number]++);
		} else {
			put_index(p, &e, &c, words[e.number]++, NULL);
			put_storage_info(p, &f, i);
		}
	}
	arena_free(&f.arena);
	return rc;
}

static int put_all_items(struct pickle *p, const struct metadata_source *s, enum metadata_kind kind,
			 uint32_t *words, struct err *err)
{
	int rc = 0;

	for (uint64_t rank = s->first; rc == 0 && rank < s->end; rank++)
		rc = put_items(p, s, kind, rank, words, err);
	return rc;
}

static int put_metadata(struct pickle *p, const struct metadata_source *s, uint32_t *words,
			struct err *err)
{
	int rc;

	begin_fields(p, METADATA);
	pickle_object(p, K_STATE_DICT);
	pickle_kept(p, PICKLE_EMPTY_DICT);
	pickle_op(p, PICKLE_MARK);
	for (uint64_t i = 0; i < state_entries(&s->dict); i++)
		put_entry(p, s, i);
	pickle_op(p, PICKLE_SETITEMS);
	put_planner(p, s, NULL);
	pickle_object(p, K_STORAGE);
	pickle_kept(p, PICKLE_EMPTY_DICT);
	pickle_op(p, PICKLE_MARK);
	rc = put_all_items(p, s, METADATA_ALL, words, err);
	pickle_op(p, PICKLE_SETITEMS);
	pickle_object(p, K_STORAGE_META);
	begin_fields(p, STORAGE_META_CLASS);
	pickle_text(p, "checkpoint_id");
	pickle_op(p, PICKLE_NONE);
	pickle_text(p, "save_id");
	pickle_op(p, PICKLE_NONE);
	pickle_text(p, "load_id");
	pickle_op(p, PICKLE_NONE);
	pickle_text(p, "modules");
	pickle_kept(p, PICKLE_EMPTY_LIST);
	end_fields(p);
	put_none(p, K_VERSION);
	end_fields(p);
	return rc;
}

/* SavePlan, or a list of results. */
static int put_rank(struct pickle *p, const struct metadata_source *s, enum metadata_kind kind,
		    uint32_t *words, struct err *err)
{
	bool plan = kind == METADATA_PLAN;
	int rc;

	if (plan) {
		begin_fields(p, SAVE_PLAN);
		pickle_object(p, K_ITEMS);
	}
	pickle_kept(p, PICKLE_EMPTY_LIST);
	pickle_op(p, PICKLE_MARK);
	rc = put_all_items(p, s, kind, words, err);
	pickle_op(p, PICKLE_APPENDS);
	if (!plan)
		return rc;
	put_none(p, K_STORAGE);
	put_planner(p, s, words);
	pickle_object(p, K_USABLE);
	pickle_op(p, PICKLE_TRUE);
	end_fields(p);
	return rc;
}

int metadata_pickle(const struct metadata_source *s, enum metadata_kind kind, uint8_t *out,
		    uint64_t *bytes, struct err *err)
{
	struct pickle p = {.out = out, .texts = texts, .protocol = 4};
	uint32_t *words = calloc(state_entries(&s->dict) + 1, sizeof(*words));
	int rc = words ? 0 : err_set(err, -ENOMEM, "no memory for chunks of tensors");

	pickle_begin(&p);
	if (rc == 0)
		rc = kind == METADATA_ALL ? put_metadata(&p, s, words, err)
					  : put_rank(&p, s, kind, words, err);
	pickle_op(&p, PICKLE_STOP);
	*bytes = p.bytes;
	free(words);
	return rc;
}
