#include "results-schema/results.h"

#include <errno.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "results-schema/file_head.h"
#include "results-schema/h5.h"
#include "results-schema/phase.h"
#include "results-schema/staging.h"

#ifndef H5_HAVE_PARALLEL
#error "haul needs a parallel HDF5 (hdf5-mpich, hdf5-openmpi): this one is serial"
#endif

enum { RANK_ROWS_MAX = 1024 };

struct results {
	struct group *group;
	struct group
		*node; /* the ranks of this node, where histograms have a row a node; else NULL */
	MPI_Comm comm;
	char *path, *part;
	/* Rank 0: what path holds. While an older file is there, part holds the head of this run's. */
	enum { FILE_ABSENT, FILE_OLDER, FILE_OWN } at_path;
	struct phase_writer writer;
	uint64_t started_utc_ns;
	struct rank_row *ranks;     /* rank 0: for results_finish, NULL: as they are */
	struct store_facts *stores; /* rank 0: for the next publication, NULL: as they are */
	uint32_t store_rows;
};

static int place_rows(struct results *r, const struct results_head *head,
		      const struct rank_row *ranks, struct err *err);
static int create_file(struct results *r, bool force, const struct results_head *head,
		       const struct node_row *nodes, const struct rank_row *ranks, struct err *err);

int results_create(struct results **out, const char *path, bool force, const void *comm,
		   struct group *group, const struct results_head *head,
		   const struct node_row *nodes, const struct rank_row *ranks, struct err *err)
{
	struct results *r = calloc(1, sizeof(*r));
	int rc = 0;

	*out = NULL;
	h5_quiet();
	if (r) {
		r->group = group;
		r->comm = *(const MPI_Comm *)comm;
		r->path = strdup(path);
		r->part = staging_path(path);
	}
	if (!r || !r->path || !r->part)
		rc = err_set(err, -ENOMEM, "no memory for the results");
	rc = group_agree(group, rc, err);
	if (rc == 0)
		rc = place_rows(r, head, ranks, err);
	if (rc == 0 && group->rank == 0)
		rc = create_file(r, force, head, nodes, ranks, err);
	rc = group_agree(group, rc, err);
	if (rc < 0) {
		results_free(r);
		return rc;
	}
	*out = r;
	return 0;
}

/* Which rows this rank writes: its own, or its node's where there are too many ranks for one each. */
static int place_rows(struct results *r, const struct results_head *head,
		      const struct rank_row *ranks, struct err *err)
{
	struct group *g = r->group;
	uint64_t words[3] = {0}, *nodes = NULL, node = 0;
	int rc = 0;

	if (g->rank == 0) {
		words[0] = head->rank_rows_max ? head->rank_rows_max : RANK_ROWS_MAX;
		words[1] = head->started_utc_ns;
		words[2] = head->nodes;
		nodes = calloc(g->size, sizeof(*nodes));
		if (!nodes)
			rc = err_set(err, -ENOMEM, "no memory for the results");
		else if (head->ranks != g->size)
			rc = err_set(err, -EINVAL, "results of %u ranks cannot be written by %u",
				     head->ranks, g->size);
		for (uint32_t i = 0; rc == 0 && i < g->size; i++)
			nodes[i] = ranks[i].place.node;
	}
	rc = group_agree(g, rc, err);
	if (rc == 0)
		rc = group_broadcast(g, words, sizeof(words));
	if (rc == 0)
		rc = group_scatter(g, nodes, sizeof(node), &node);
	free(nodes);
	if (rc < 0)
		return rc;
	r->started_utc_ns = words[1];
	r->writer = (struct phase_writer){.rank = g->rank,
					  .ranks = g->size,
					  .node = (uint32_t)node,
					  .nodes = (uint32_t)words[2],
					  .first = g->rank == 0,
					  .rows = g->size,
					  .row = g->rank};
	if (g->size <= words[0])
		return 0;
	rc = group_split(g, (uint32_t)node, &r->node, err);
	if (rc < 0)
		return rc;
	words[0] = node + 1;
	rc = group_allreduce(g, MERGE_MAX, words, 1);
	r->writer.by_node = true;
	r->writer.rows = (uint32_t)words[0];
	r->writer.row = r->node->rank == 0 ? (uint32_t)node : r->writer.rows;
	return rc;
}

static int create_file(struct results *r, bool force, const struct results_head *head,
		       const struct node_row *nodes, const struct rank_row *ranks, struct err *err)
{
	bool older = access(r->path, F_OK) == 0;
	int rc = 0;

	if (older && !force)
		rc = -EEXIST;
	if (rc == 0)
		rc = file_head_create(r->part, head, nodes, ranks, err);
	if (rc < 0 && rc != -EEXIST)
		unlink(r->part);
	if (rc == 0 && !older)
		rc = staging_publish(r->part, r->path, !force, err);
	if (rc == 0)
		r->at_path = older ? FILE_OLDER : FILE_OWN;
	if (rc == -EEXIST)
		err_set(err, rc, "%s exists; name another with --results, or say --force", r->path);
	return rc;
}

/* ROMIO: small collective buffers, no reading back of what lies between rows. */
static hid_t parallel_access(const struct results *r)
{
	hid_t access = h5_file_access();
	MPI_Info info;

	if (access < 0)
		return access;
	MPI_Info_create(&info);
	MPI_Info_set(info, "cb_buffer_size", "1048576");
	MPI_Info_set(info, "romio_cb_write", "enable");
	MPI_Info_set(info, "romio_ds_write", "disable");
	/* One rank reads the file's metadata for all. */
	if (H5Pset_fapl_mpio(access, r->comm, info) < 0 ||
	    H5Pset_all_coll_metadata_ops(access, true) < 0) {
		H5Pclose(access);
		access = H5I_INVALID_HID;
	}
	MPI_Info_free(&info);
	return access;
}

/* A colon would be taken for the end of a file system's name by ROMIO; this is the name that means
 * any. */
static char *romio_path(const char *part)
{
	char *path = malloc(strlen(part) + 5);

	if (path) {
		strcpy(path, strchr(part, ':') ? "ufs:" : "");
		strcat(path, part);
	}
	return path;
}

/* Collective: each rank's own rows, into the part that rank 0 has prepared. The file is closed whatever happens, so
 * that no rank waits for another. */
static int append_rows(struct results *r, const struct results_phase *phase,
		       const struct blocks *blocks, struct err *err)
{
	char at[PHASE_PATH_BYTES], *path = romio_path(r->part);
	hid_t access = parallel_access(r), file = H5I_INVALID_HID;
	struct phase_record record = phase->record;
	int rc = 0;

	if (!path || access < 0)
		rc = h5_fail(err, "results file %s cannot be opened", r->part);
	rc = group_agree(r->group, rc, err);
	if (rc == 0)
		rc = group_broadcast(r->group, &record, sizeof(record));
	if (rc < 0)
		goto out_access;
	phase_path(at, &record);
	file = H5Fopen(path, H5F_ACC_RDWR, access);
	if (file < 0)
		rc = h5_fail(err, "results file %s cannot be opened", r->part);
	rc = group_agree(r->group, rc, err);
	if (rc == 0)
		rc = blocks_write(blocks, file, at, r->group, err);
	rc = group_agree(r->group, h5_divert(r->part, rc, err), err);
	if (file >= 0 && H5Fclose(file) < 0 && rc == 0)
		rc = h5_fail(err, "results file %s cannot be written", r->part);
	h5_give_back();
	rc = group_agree(r->group, rc, err);
out_access:
	if (access >= 0)
		H5Pclose(access);
	free(path);
	return rc;
}

static double run_seconds(const struct results *r, uint64_t now_utc_ns)
{
	return now_utc_ns > r->started_utc_ns ? (double)(now_utc_ns - r->started_utc_ns) / 1e9 : 0;
}

/* Rank 0: what changes beside the phases at each publication. */
static int renew_head(struct results *r, hid_t file, struct err *err)
{
	int rc = file_head_seconds(file, run_seconds(r, clock_utc_ns()), err);

	if (rc < 0 || !r->stores)
		return rc;
	rc = file_head_stores(file, r->stores, r->store_rows, err);
	if (rc < 0)
		return rc;
	free(r->stores);
	r->stores = NULL;
	return 0;
}

/* Rank 0: what was published so far, to be added to. */
static int begin_part(const struct results *r, struct err *err)
{
	return r->at_path == FILE_OWN ? staging_copy(r->path, r->part, err) : 0;
}

static int publish_part(struct results *r, struct err *err)
{
	int rc = staging_publish(r->part, r->path, false, err);

	if (rc == 0)
		r->at_path = FILE_OWN;
	return rc;
}

/* Rank 0: the copy with the phase in it, but for the rows of ranks, for which there is room. */
static int prepare_part(struct results *r, const struct merged *m, const struct blocks *blocks,
			struct err *err)
{
	struct h5_file file;
	int rc = begin_part(r, err);

	if (rc < 0)
		return rc;
	rc = h5_write_open(&file, r->part, false, err);
	if (rc == 0)
		rc = renew_head(r, file.id, err);
	if (rc == 0)
		rc = phase_write(file.id, m, &r->writer, blocks, err);
	rc = h5_write_close(&file, rc, err);
	if (rc == 0)
		rc = staging_reserve(r->part, err);
	if (rc < 0)
		unlink(r->part);
	return rc;
}

int results_publish(struct results *r, const struct results_phase *phase, struct err *err)
{
	struct blocks blocks = {0};
	struct merged m;
	int rc = merged_make(&m, phase, r->group, r->node, err);

	if (rc == 0)
		rc = group_agree(r->group, blocks_make(&blocks, &m, &r->writer, err), err);
	if (rc == 0)
		rc = group_agree(r->group, r->writer.first ? prepare_part(r, &m, &blocks, err) : 0,
				 err);
	if (rc == 0) {
		rc = append_rows(r, phase, &blocks, err);
		if (r->writer.first && rc < 0)
			unlink(r->part);
		else if (r->writer.first)
			rc = publish_part(r, err);
		rc = group_agree(r->group, rc, err);
	}
	blocks_free(&blocks);
	merged_free(&m);
	return rc;
}

void results_set_run(struct results_phase *phase, const struct results_run *run)
{
	struct phase_record *r = &phase->record;

	r->run = run->run ? run->run : 1;
	r->combination = run->combination ? run->combination : 1;
	r->repeat = run->repeat ? run->repeat : 1;
	r->warmup = run->warmup;
	phase->sets = run->sets;
	phase->set_count = run->set_count < RECORD_SETS_MAX ? run->set_count : RECORD_SETS_MAX;
}

int results_set_ranks(struct results *r, const struct rank_row *ranks)
{
	size_t bytes = r->writer.ranks * sizeof(*ranks);

	if (!r->writer.first)
		return 0;
	if (!r->ranks)
		r->ranks = malloc(bytes);
	if (!r->ranks)
		return -ENOMEM;
	memcpy(r->ranks, ranks, bytes);
	return 0;
}

int results_set_stores(struct results *r, const struct store_facts *rows, uint32_t count)
{
	struct store_facts *copy;

	if (!r->writer.first)
		return 0;
	copy = malloc(count * sizeof(*copy) + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, rows, count * sizeof(*copy));
	free(r->stores);
	r->stores = copy;
	r->store_rows = count;
	return 0;
}

/* Only a few attributes change: rank 0 does it alone. */
static int finish_file(struct results *r, enum results_status status, const char *sentence,
		       struct err *err)
{
	static const char *const names[] = {"interrupted", "done", "failed"};
	struct file_end end = {.status = names[status],
			       .sentence = sentence,
			       .finished_utc_ns = clock_utc_ns(),
			       .ranks = r->ranks,
			       .rank_count = r->writer.ranks};
	struct h5_file file;
	int rc = begin_part(r, err);

	if (rc < 0)
		return rc;
	end.seconds = run_seconds(r, end.finished_utc_ns);
	rc = h5_write_open(&file, r->part, false, err);
	if (rc == 0)
		rc = renew_head(r, file.id, err);
	if (rc == 0)
		rc = file_head_finish(file.id, &end, err);
	rc = h5_write_close(&file, rc, err);
	if (rc < 0) {
		unlink(r->part);
		return rc;
	}
	return publish_part(r, err);
}

int results_finish(struct results *r, enum results_status status, const char *sentence,
		   struct err *err)
{
	int rc = 0;

	if (r->writer.first && r->at_path == FILE_OLDER && status != RESULTS_DONE)
		results_discard(r);
	else if (r->writer.first)
		rc = finish_file(r, status, sentence, err);
	return group_agree(r->group, rc, err);
}

void results_discard(struct results *r)
{
	if (r->at_path == FILE_OLDER)
		unlink(r->part);
	if (r->at_path == FILE_OWN)
		unlink(r->path);
	r->at_path = FILE_ABSENT;
}

bool results_stand(const struct results *r)
{
	return r->at_path == FILE_OWN;
}

void results_free(struct results *r)
{
	if (!r)
		return;
	if (r->node)
		group_free(r->node);
	free(r->stores);
	free(r->ranks);
	free(r->path);
	free(r->part);
	free(r);
}
