/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of objects that have a wrong size after their commit: they count as errors, whether they
 * are written by blocks, whole, empty or by many ranks. The store loses the last byte of every
 * other object. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/libs/doubles/thread_group.h"
#include "tests/unit.h"
#include "workloads/common/writer.h"
#include "workloads/io/work.h"

struct liar {
	_Atomic uint32_t commits;
	struct clock clock;
	struct store_options options;
	struct store store;
};

static void liar_submit(struct channel *c, struct request *const *reqs, uint32_t n)
{
	struct liar *l = c->store->state;

	for (uint32_t i = 0; i < n; i++) {
		struct request *req = reqs[i];

		req->answer.status = 0;
		req->answer.done_bytes = req->length;
		if (req->op == REQ_BEGIN)
			req->object->state[0] = 1;
		if (req->op == REQ_COMMIT && atomic_fetch_add(&l->commits, 1) % 2 == 0)
			req->answer.done_bytes = req->length - 1;
	}
}

static const struct backend_ops liar_ops = {
	.scheme = "liar",
	.capabilities = BACKEND_CONTENT | BACKEND_SHARED,
	.depth_max = 64,
	.submit = liar_submit,
};

struct commit_run {
	struct io_options options;
	struct liar liar;
	bool shared;
	struct tally tally;
	uint64_t done;
	char text[sizeof(((struct err *)0)->text)];
};

static int write_objects(struct commit_run *w, struct crew *crew)
{
	struct io_thread *t = calloc(1, sizeof(*t));
	enum stop_reason stopped;
	struct io_set set;
	struct io_work work = {.options = &w->options,
			       .set = &set,
			       .store = &w->liar.store,
			       .whole = io_whole(&w->options, liar_ops.capabilities),
			       .content = true,
			       .threads = t};
	int rc;

	io_set_of(&set, &w->options, 42, 1);
	work.objects = set.objects;
	pattern_init(&work.pattern, 7, 1 << 20, 1, 1, 4096);
	crew->argument = &work;
	CU_ASSERT_EQUAL_FATAL(io_thread_open(t, &work, &crew->members[0], NULL), 0);
	io_share_init(&t->share, &set, &w->options, work.whole, 0, 0);
	t->limit = io_limit(&w->options, t->share.items, work.whole);
	t->slots.warm = true;
	rc = crew_run(crew, io_thread_run, &stopped, NULL);
	w->done = t->done;
	io_thread_close(t);
	free(t);
	return rc;
}

static int write_shared(struct commit_run *w, struct crew *crew, struct group *g)
{
	struct shared_object s = {.object = {.key = "shared"}};
	struct err err = {0};
	bool whole = true;
	int rc = shared_object_begin(&s, 4096, 4096, &crew->members[0], g, NULL);

	if (rc == 0)
		rc = shared_object_end(&s, &whole, &crew->members[0], g, &err);
	memcpy(w->text, err.text, sizeof(w->text));
	return rc;
}

static int body(struct group *g, void *argument)
{
	struct commit_run *w = argument;
	struct crew crew = {.once = true,
			    .store = &w->liar.store,
			    .group = g,
			    .layout = io_meter(&w->options),
			    .threads = 1,
			    .depth = (uint32_t)w->options.depth,
			    .buffer_bytes = w->options.depth * 65536,
			    .kind = "io"};
	int rc = crew_open(&crew, NULL);

	if (rc == 0)
		rc = w->shared ? write_shared(w, &crew, g) : write_objects(w, &crew);
	crew_merge(&crew, &w->tally);
	crew_close(&crew);
	return rc;
}

static void run_commits(struct commit_run *w, const struct io_options *o, bool shared, int rc)
{
	memset(w, 0, sizeof(*w));
	w->options = *o;
	w->shared = shared;
	clock_init(&w->liar.clock);
	w->liar.store = (struct store){.ops = &liar_ops,
				       .options = &w->liar.options,
				       .clock = &w->liar.clock,
				       .alignment = 1,
				       .state = &w->liar};
	CU_ASSERT_EQUAL_FATAL(tally_init(&w->tally, &io_schema, NULL, NULL), 0);
	CU_ASSERT_EQUAL(thread_group_run(1, body, w, NULL), rc);
}

static void test_wrong_size_at_commit_was_no_error(void)
{
	static const struct io_options cases[] = {
		{.operation = IO_DO_WRITE, .size = 8192},
		{.operation = IO_DO_WRITE, .size_count = 1, .sizes = {{8192, 1, 9000, 0}}},
		{.operation = IO_DO_CREATE},
	};
	static struct commit_run w;

	for (unsigned i = 0; i < 3 * 2; i++) {
		struct io_options o = cases[i % 3];

		o.objects = 10;
		o.block = 4096;
		o.depth = i / 3 ? 4 : 1;
		o.threads = o.batch = o.passes = 1;
		o.on_error = ON_ERROR_COUNT;
		run_commits(&w, &o, false, 0);
		CU_ASSERT_EQUAL(w.liar.commits, 10);
		CU_ASSERT_EQUAL(w.tally.rank_row[TALLY_ERRORS], 5);
		CU_ASSERT_EQUAL(w.tally.failure_count, 5);
		CU_ASSERT_PTR_NOT_NULL(strstr(w.tally.failures[0].text, "the store has "));
		/* Blocks count as done, except for those of an object that is not complete. */
		CU_ASSERT_EQUAL(w.done, i % 3 ? 5 : 15);
		tally_free(&w.tally);
	}
}

static void test_wrong_size_of_a_shared_object_was_no_error(void)
{
	const struct io_options o = {
		.operation = IO_DO_WRITE, .objects = 1, .depth = 1, .threads = 1, .block = 4096};
	static struct commit_run w;

	run_commits(&w, &o, true, -EIO);
	CU_ASSERT_EQUAL(w.tally.rank_row[TALLY_ERRORS], 1);
	CU_ASSERT_EQUAL(w.tally.failure_count, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(w.text, "the store has 4095 bytes of it, not 4096"));
	tally_free(&w.tally);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"a wrong size at the commit was no error", test_wrong_size_at_commit_was_no_error},
		{"a wrong size of a shared object was no error",
		 test_wrong_size_of_a_shared_object_was_no_error},
		CU_TEST_INFO_NULL,
	};

	return unit_main("io_commit", tests);
}
