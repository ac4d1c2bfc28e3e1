/* SPDX-License-Identifier: Apache-2.0 */
/* Creating, discarding and freeing a results file: see results.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/part.h"
#include "results-schema/file_head.h"
#include "results-schema/results_bytes.h"
#include "results-schema/results_state.h"
#include "results-schema/staging.h"

static int place_rows(struct results *r, const struct results_head *head,
		      const struct rank_row *ranks, struct err *err);
static int share_place(struct results *r, const struct results_head *head);
static int create_file(struct results *r, bool force, const struct results_head *head,
		       const struct node_row *nodes, const struct rank_row *ranks, struct err *err);

int results_create(struct results **out, const char *path, bool force, const void *comm,
		   struct group *group, const struct results_head *head,
		   const struct node_row *nodes, const struct rank_row *ranks, struct err *err)
{
	struct results *r = calloc(1, sizeof(*r));
	int rc = 0;

	*out = NULL;
	if (r) {
		r->published_fd = -1;
		r->group = group;
		r->comm = comm;
		r->simulated = head->simulated != NULL;
		r->path = strdup(path);
		r->draw = part_draw();
	}
	if (!r || !r->path)
		rc = err_set(err, -ENOMEM, "no memory for the results");
	rc = group_agree(group, rc, err);
	if (rc == 0)
		rc = group_broadcast(group, &r->draw, sizeof(r->draw));
	if (rc == 0) {
		r->base.draw = r->side_base.draw = r->draw;
		r->part = staging_path(path, r->draw);
		rc = group_agree(group,
				 r->part ? 0 : err_set(err, -ENOMEM, "no memory for the results"),
				 err);
	}
	if (rc == 0)
		rc = place_rows(r, head, ranks, err);
	if (rc == 0 && group->rank == 0)
		rc = create_file(r, force, head, nodes, ranks, err);
	rc = group_agree(group, rc, err);
	if (rc == 0)
		rc = group_broadcast(group, r->key, sizeof(r->key));
	if (rc == 0)
		rc = share_place(r, head);
	if (rc < 0) {
		results_free(r);
		return rc;
	}
	*out = r;
	return 0;
}

/* What is at the path, on all ranks: each may be the one that is left. */
static int share_place(struct results *r, const struct results_head *head)
{
	struct results_kept kept = {0};
	uint64_t at = (uint64_t)r->at_path;
	int rc = group_broadcast(r->group, &at, sizeof(at));

	r->lock = owner_file(&r->owner);
	if (rc == 0)
		rc = group_broadcast(r->group, &r->lock, sizeof(r->lock));
	if (r->writer.first && head->kept)
		kept = *head->kept;
	if (rc == 0)
		rc = group_broadcast(r->group, &kept, sizeof(kept));
	r->next = kept.phases;
	r->before_s = kept.seconds;
	r->at_path = at == FILE_OWN ? FILE_OWN : at == FILE_OLDER ? FILE_OLDER : FILE_ABSENT;
	return rc;
}

/* Of a simulation: the nodes of all ranks, whose rows this process writes. */
static int keep_nodes(struct results *r, const struct rank_row *ranks, struct err *err)
{
	r->rank_nodes = calloc(r->group->size, sizeof(*r->rank_nodes));
	if (!r->rank_nodes)
		return err_set(err, -ENOMEM, "no memory for the results");
	for (uint32_t i = 0; i < r->group->size; i++)
		r->rank_nodes[i] = ranks[i].place.node;
	return 0;
}

/* Which rows this rank writes: its own, or its node's where there are too many ranks for one
 * each. */
static int place_rows(struct results *r, const struct results_head *head,
		      const struct rank_row *ranks, struct err *err)
{
	struct group *g = r->group;
	uint64_t words[6] = {0}, *nodes = NULL, node = 0;
	int rc = 0;

	if (g->rank == 0) {
		words[0] = head->rank_rows_max ? head->rank_rows_max : RANK_ROWS_MAX;
		words[1] = head->started_utc_ns;
		words[2] = head->nodes;
		words[3] = head->client_nodes_max ? head->client_nodes_max : CLIENT_NODES_MAX;
		words[4] = head->gather_bytes_max ? head->gather_bytes_max : BLOCKS_GATHER_BYTES;
		words[5] = head->started_ns ? head->started_ns : clock_kernel_ns();
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
	if (r->simulated)
		rc = keep_nodes(r, ranks, err);
	if (rc < 0)
		return rc;
	r->started_utc_ns = words[1];
	r->started_ns = words[5];
	r->client_nodes_max = (uint32_t)words[3];
	r->gather_bytes_max = words[4];
	r->writer = (struct phase_writer){.rank = g->rank,
					  .ranks = g->size,
					  .node = (uint32_t)node,
					  .nodes = (uint32_t)words[2],
					  .first = g->rank == 0,
					  .rows = g->size,
					  .row = g->rank,
					  .rank_nodes = r->rank_nodes};
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

/* The series of what is replaced is known by its key; the new one gets a key of its own. */
static void choose_key(struct results *r, const struct results_head *head, bool older)
{
	uint64_t started = head->started_utc_ns;

	if (older)
		file_head_series(r->path, r->older_key);
	if (older && !r->older_key[0])
		file_head_joined(r->path, r->older_key);
	if (head->simulated || (head->runs < 2 && !results_bytes_apart(head->phases)))
		return;
	r->join = head->runs < 2 ? RESULTS_JOIN_ALWAYS : RESULTS_JOIN_SMALL;
	do {
		series_key(r->key, started++);
	} while (strcmp(r->key, r->older_key) == 0);
}

/* What a run that was killed has left: a part, and the side files of its series. A part counts only
 * if it links to nothing: else the results file that it was to become may have been moved away,
 * with the same key. */
static void remove_left_part(void *results, const char *part)
{
	const struct results *r = results;
	char key[SERIES_KEY_BYTES] = "";

	if (file_head_series(part, key) == 0 && key[0])
		side_files_remove(r->path, key);
	unlink(part);
}

/* The caller frees it. NULL: no memory. */
static char *lock_path(const struct results *r)
{
	char *path;

	return asprintf(&path, "%s.owner", r->path) < 0 ? NULL : path;
}

/* Takes the results file for this run. Where the file system has no locks, it goes on without
 * one. */
static int own_file(struct results *r, struct err *err)
{
	struct err why = {0};
	char *lock = lock_path(r);
	int rc;

	if (!lock)
		return err_set(err, -ENOMEM, "no memory for the results");
	rc = owner_take(&r->owner, lock, &why);
	if (rc == -EBUSY)
		err_set(err, rc,
			"%s belongs to a run that goes on: %s; name another with --results",
			r->path, r->owner.who);
	else if (rc == -ENOLCK)
		rc = 0;
	else if (rc < 0)
		err_set(err, rc, "results file %s cannot be created: %s", r->path,
			rc == -ELOOP || rc == -EINVAL ? why.text : strerror(-rc));
	free(lock);
	if (rc == 0 && owner_has(&r->owner)) {
		part_visit(r->path, STAGING_PART, S_IFREG, remove_left_part, r);
		part_remove_left(r->path, STAGING_BASE);
	}
	return rc;
}

static int create_file(struct results *r, bool force, const struct results_head *head,
		       const struct node_row *nodes, const struct rank_row *ranks, struct err *err)
{
	static const char instead[] = "name another with --results, or say --force";
	bool older = false;
	int rc;

	force |= head->kept != NULL;
	rc = part_check_place(r->path, force, instead, &older, err);
	if (rc == 0)
		rc = own_file(r, err);
	/* The run that had it until now may have made it. */
	if (rc == 0)
		rc = part_check_place(r->path, force, instead, &older, err);
	if (rc < 0)
		return rc;
	choose_key(r, head, older && !head->kept);
	if (r->key[0])
		rc = side_files_make_folder(r->path, err);
	if (rc == 0 && older && head->kept) {
		rc = results_resume(r, head->kept, err);
		if (rc == 0)
			results_published(r);
		return rc;
	}
	if (rc == 0)
		rc = file_head_create(r->part, head, r->key, nodes, ranks, err);
	if (rc == 0 && !older)
		rc = staging_publish(r->part, r->path, !force, err);
	if (rc == 0 && older)
		r->at_path = FILE_OLDER;
	else if (rc == 0)
		results_published(r);
	if (rc < 0)
		results_discard(r);
	if (rc == -EEXIST)
		err_set(err, rc, "%s exists; %s", r->path, instead);
	return rc;
}

void results_published(struct results *r)
{
	if (r->published_fd >= 0)
		close(r->published_fd);
	r->published_fd = open(r->path, O_RDONLY | O_CLOEXEC);
	r->at_path = FILE_OWN;
	results_remove_older(r);
}

void results_remove_older(struct results *r)
{
	if (r->older_key[0])
		side_files_remove(r->path, r->older_key);
	r->older_key[0] = '\0';
}

void results_give_back(const struct results *r)
{
	char *lock = lock_path(r);

	if (lock)
		owner_remove(lock, r->lock);
	free(lock);
}

bool results_owned(const struct results *r)
{
	return !r->writer.first || owner_has(&r->owner);
}

void results_discard(struct results *r)
{
	if (!r->writer.first)
		return;
	results_forget_base(r);
	if (r->at_path != FILE_OWN)
		unlink(r->part);
	else
		unlink(r->path);
	if (r->key[0])
		side_files_remove(r->path, r->key);
	r->at_path = FILE_ABSENT;
}

void results_set_watch(struct results *r, const struct results_watch *watch)
{
	r->watch = *watch;
}

bool results_stand(const struct results *r)
{
	return r->writer.first && r->at_path == FILE_OWN;
}

void results_free(struct results *r)
{
	if (!r)
		return;
	if (r->node)
		group_free(r->node);
	if (r->published_fd >= 0)
		close(r->published_fd);
	owner_drop(&r->owner);
	free(r->base.path);
	free(r->side_base.path);
	free(r->stores);
	answer_free(&r->answer);
	free(r->ranks);
	free(r->rank_nodes);
	free(r->path);
	free(r->part);
	free(r);
}
