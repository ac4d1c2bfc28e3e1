/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of walks over a file's bytes, apart from any format: what a hook gathers, and what a walk
 * knows of its place. */
#include "workloads/formats/walk.h"

#include <string.h>

#include "tests/unit.h"

/* What a hook has gathered, kept in the state of the walk. */
struct seen {
	uint8_t bytes[4];
};

static const char *gather_take(struct walk *w, struct walk_piece *p)
{
	struct seen *s = WALK_STATE(struct seen, w);

	/* Gathers as many bytes as the first byte says. */
	if (!walk_gather(w, p, s->bytes, sizeof(s->bytes), w->have ? s->bytes[0] : 1))
		return NULL;
	if (w->have > 1)
		w->part++;
	return NULL;
}

static const char *gather_end(const struct walk *w, uint64_t samples)
{
	return w->part == samples ? NULL : "gathered a different number of times";
}

/* No more bytes are gathered than there is room for, however many a file asks for. */
static void test_gather_has_bounds(void)
{
	static const struct walk_ops ops = {gather_take, gather_end, true};
	uint8_t file[300];

	for (unsigned wanted = 2; wanted < 256; wanted++)
		for (unsigned piece = 1; piece <= sizeof(file); piece *= 7) {
			struct walk w = {.size = sizeof(file)};
			const char *wrong = NULL;

			memset(file, 0x5a, sizeof(file));
			file[0] = (uint8_t)wanted;
			for (unsigned at = 0; at < wanted && !wrong; at += piece) {
				struct walk_piece p = {
					.at = file + at, .left = piece, .offset = at};

				while (p.left && !wrong && !w.part)
					wrong = walk_take(&ops, &w, &p);
			}
			if (wanted <= sizeof(struct seen)) {
				CU_ASSERT_PTR_NULL(wrong);
				CU_ASSERT_PTR_NULL(walk_end(&ops, &w, 1));
			} else {
				CU_ASSERT(wrong && strstr(wrong, "longer than haul looks at"));
				CU_ASSERT_PTR_NOT_NULL(walk_end(&ops, &w, 1));
			}
		}
}

static const char *pass_take(struct walk *w, struct walk_piece *p)
{
	w->part += p->jumps;
	p->left = 0;
	return NULL;
}

/* A walk knows whether it has seen the file's last byte, and whether it has seen all bytes. */
static void test_walks_know_where_they_are(void)
{
	static const struct walk_ops ops = {pass_take, gather_end, true};
	static const struct {
		struct walk_piece pieces[3]; /* ranges of a file of 100 bytes; left 0: none */
		bool whole, last;
		unsigned jumps;
	} cases[] = {
		{{{.left = 100}}, true, true, 0},
		{{{.left = 99}}, true, false, 0},
		{{{.left = 40}, {.left = 60, .offset = 40}}, true, true, 0},
		{{{.left = 40}, {.left = 50, .offset = 50}}, false, true, 1},
		{{{.left = 60, .offset = 40}}, false, true, 1},
		{{{.left = 20, .offset = 40}}, false, false, 1},
		{{{.left = 10, .offset = 90}, {.left = 90}}, false, false, 2},
		{{{.left = 100, .object = 1}, {.left = 100}}, false, true, 2},
		{{{.left = 100}, {.left = 100, .object = 1}}, false, false, 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct walk w = {.size = 100};

		for (unsigned k = 0; k < 3 && cases[i].pieces[k].left; k++) {
			struct walk_piece p = cases[i].pieces[k];

			CU_ASSERT_PTR_NULL(walk_take(&ops, &w, &p));
		}
		CU_ASSERT_EQUAL(w.whole, cases[i].whole);
		CU_ASSERT_EQUAL(w.last, cases[i].last);
		CU_ASSERT_PTR_NULL(walk_end(&ops, &w, cases[i].jumps));
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"gathering has bounds", test_gather_has_bounds},
		{"walks know where they are", test_walks_know_where_they_are},
		CU_TEST_INFO_NULL,
	};

	return unit_main("walk", tests);
}
