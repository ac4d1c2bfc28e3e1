/* The bytes of one object: see content.h. */
#include "workloads/replay/content.h"

#include "core/content/fill.h"

void replay_content_begin(struct replay_content *c, const struct pattern *pattern, uint64_t seed,
			  uint64_t hash)
{
	c->pattern = *pattern;
	c->pattern.key = fill_key(seed, hash);
	c->wrong = false;
}

void replay_content_expect(struct replay_content *c, uint64_t at, uint64_t length, uint64_t draw)
{
	c->check_at = at;
	c->check_end = c->verify == VERIFY_NONE ? at : at + length;
	if (c->verify == VERIFY_SAMPLED && length > VERIFY_SAMPLE_BYTES) {
		c->check_at = at + draw % (length - VERIFY_SAMPLE_BYTES + 1);
		c->check_end = c->check_at + VERIFY_SAMPLE_BYTES;
	}
}

int replay_content_fill(struct request *req, uint64_t offset, void *data, uint64_t length)
{
	struct replay_content *c = req->user;
	uint64_t begin_ns = clock_now(c->clock);

	pattern_fill(&c->pattern, 0, offset, data, length);
	c->fill_ns += clock_now(c->clock) - begin_ns;
	return 0;
}

int replay_content_check(struct request *req, uint64_t offset, void *data, uint64_t length)
{
	struct replay_content *c = req->user;
	uint64_t from = offset > c->check_at ? offset : c->check_at;
	uint64_t to = offset + length < c->check_end ? offset + length : c->check_end;
	uint64_t begin_ns, good;

	if (from >= to || c->wrong)
		return 0;
	begin_ns = clock_now(c->clock);
	good = pattern_verify(&c->pattern, 0, from, (const char *)data + (from - offset),
			      to - from);
	c->verify_ns += clock_now(c->clock) - begin_ns;
	if (good < to - from) {
		c->wrong = true;
		c->wrong_at = from + good;
	}
	return 0;
}
