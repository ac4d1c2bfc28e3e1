/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/upload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/http/dialect.h"
#include "core/content/random.h"
#include "core/numbers.h"
#include "core/time_ns.h"

/* Whole pages, since an upload that begins gives its pages back: it must not take those of another
 * that is under way. */
static uint64_t upload_etag_bytes(const struct http_channel *ch)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t bytes = ch->channel->store->ops->parts_max * PART_ETAG_BYTES;

	return (bytes + page - 1) / page * page;
}

int uploads_open(struct http_channel *ch, uint32_t depth)
{
	uint64_t one = upload_etag_bytes(ch);

	ch->uploads = calloc(depth, sizeof(*ch->uploads));
	if (!ch->uploads)
		return -ENOMEM;
	if (!ch->store->dialect->begins)
		return 0;
	ch->etag_bytes = one * depth;
	ch->etags = mmap(NULL, ch->etag_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ch->etags == MAP_FAILED) {
		ch->etags = NULL;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < depth; i++)
		ch->uploads[i].etags = (char(*)[PART_ETAG_BYTES])(ch->etags + i * one);
	return 0;
}

/* A run that is told to end asks for no more, also not that an upload be dropped. */
static void uploads_count_left(struct http_channel *ch)
{
	for (uint32_t i = 0; ch->etags && i < ch->channel->depth; i++) {
		const struct upload *u = &ch->uploads[i];

		if (!atomic_load(&u->used) || u->joined || u->published)
			continue;
		if (u->unanswered)
			atomic_fetch_add(&ch->store->uploads_unknown, 1);
		else if (u->id[0])
			atomic_fetch_add(&ch->store->uploads_left, 1);
	}
}

void uploads_close(struct http_channel *ch)
{
	uploads_count_left(ch);
	if (ch->etags)
		munmap(ch->etags, ch->etag_bytes);
	free(ch->uploads);
}

static struct upload *upload_take(struct http_channel *ch)
{
	for (uint32_t i = 0; i < ch->channel->depth; i++) {
		struct upload *u = &ch->uploads[i];
		bool used = false;

		if (atomic_compare_exchange_strong(&u->used, &used, true))
			return u;
	}
	return NULL;
}

static void upload_drop(struct object *o)
{
	struct upload *u = (struct upload *)(uintptr_t)o->state[0];

	memset(o->state, 0, sizeof(o->state));
	atomic_store(&u->used, false);
}

/* Small enough for one PUT. */
static bool upload_whole(const struct http_channel *ch, const struct request *req)
{
	uint64_t part =
		req->begin.part ? req->begin.part : http_part(ch->store->options, req->length);

	return req->begin.empty || (req->length && req->length <= part && !req->begin.shared);
}

/* Whether an abort names the version that it drops, since the object is not begun here. */
static bool upload_named(const struct http_channel *ch, const struct request *req)
{
	return ch->store->dialect->begins && !req->object->state[0] && req->begin.shared &&
	       req->begin.shared->id[0];
}

bool upload_asks(const struct http_channel *ch, const struct request *req)
{
	const struct upload *u = (const struct upload *)(uintptr_t)req->object->state[0];
	bool begins = ch->store->dialect->begins;

	if (req->op == REQ_COMMIT)
		return !(u && u->published && u->unasked);
	if (req->op == REQ_BEGIN)
		return begins && !upload_whole(ch, req) &&
		       !(req->begin.shared && req->begin.shared->id[0]);
	if (upload_named(ch, req))
		return true;
	return u && !u->joined && (u->published || (u->id[0] && begins));
}

/* Where the store gives uploads no name of its own: one that no other upload of the object has
 * had. */
static void upload_name(struct http_slot *s, struct upload *u)
{
	struct text t = text_in(u->id, sizeof(u->id));
	uint64_t draw =
		random_at(clock_utc_ns(), s->channel->channel->store->place.rank, (uintptr_t)u);

	text_add_hex(&t, (const uint8_t *)&draw, (UPLOAD_NAME_BYTES - 1) / 2);
}

static void upload_init(struct http_slot *s, struct upload *u)
{
	const struct http_store *http = s->channel->store;
	const struct request *req = s->req;

	u->length = req->length;
	u->part = req->begin.part ? req->begin.part : http_part(http->options, req->length);
	u->whole = upload_whole(s->channel, req);
	u->unasked = u->whole && (req->begin.unasked || !u->length);
	u->shared = req->begin.shared;
	u->joined = req->begin.shared && req->begin.shared->id[0];
	u->published = false;
	u->unanswered = false;
	u->complete = false;
	u->version[0] = u->etag[0] = '\0';
	u->begun = 0;
	u->listed = u->listed_bytes = u->listed_to = 0;
	atomic_store(&u->written, 0);
	u->id[0] = '\0';
	if (req->begin.shared && u->joined)
		memcpy(u->id, req->begin.shared->id, sizeof(u->id));
	else if (!http->dialect->begins)
		upload_name(s, u);
	if (u->etags)
		madvise(u->etags, upload_etag_bytes(s->channel), MADV_DONTNEED);
}

/* Why the store would not take the upload, so that it need not be asked. NULL: it would. */
static const char *upload_refusal(const struct http_slot *s, const struct upload *u)
{
	const struct backend_ops *ops = s->channel->channel->store->ops;

	if (u->shared && !u->length)
		return "an object that many ranks write needs a known length";
	if (u->whole)
		return NULL;
	if (u->part < ops->part_min && (!u->length || u->length > u->part))
		return "parts of an upload have at least 5 MiB; set larger parts (the store's \"part\" or \"transfer\", or the phase's \"chunk\" or \"block\")";
	if (u->length && (u->length - 1) / u->part >= ops->parts_max)
		return "too many parts; set larger parts (the store's \"part\" or \"transfer\", or the phase's \"chunk\" or \"block\")";
	return NULL;
}

/* "\"abc\"" and "&quot;abc&quot;", as expat reads it, without the quotes. */
static void upload_keep_etag(char out[ANSWER_ETAG_BYTES], const char *etag)
{
	size_t n = strlen(etag);

	if (n >= 2 && etag[0] == '"' && etag[n - 1] == '"') {
		etag++;
		n -= 2;
	}
	if (n >= ANSWER_ETAG_BYTES)
		n = 0;
	memcpy(out, etag, n);
	out[n] = '\0';
}

/* When the request began, by the store's clock and at the earliest: its dates are whole seconds. 0:
 * unknown. */
static int64_t upload_since(const struct http_slot *s)
{
	int64_t date = answer_date(&s->exchange.answer);
	uint64_t took_ns =
		excess_u64(clock_now(s->channel->channel->store->clock), s->req->answer.submit_ns);

	return date ? date - (int64_t)(took_ns / NS_PER_S) - 2 : 0;
}

void upload_named_by(struct http_slot *s, const char *etag)
{
	const struct http_answer *a = &s->exchange.answer;
	struct upload *u = upload_of(s);

	memcpy(u->version, a->version, sizeof(u->version));
	upload_keep_etag(u->etag, etag ? etag : a->etag);
	if (!u->begun)
		u->begun = upload_since(s);
}

int upload_unproven(struct http_slot *s)
{
	s->req->answer.fault = REQ_FAULT_SERVER;
	s->req->answer.transient = true;
	s->req->answer.why =
		"the answer does not say that the store has published the object, though "
		"its status says success";
	return -EIO;
}

/* Whether the object that stands there is the version that the store has named. */
static bool upload_is_named(const struct upload *u, const struct http_answer *a)
{
	char etag[ANSWER_ETAG_BYTES];

	if (u->version[0] && a->version[0])
		return strcmp(u->version, a->version) == 0;
	upload_keep_etag(etag, a->etag);
	return u->etag[0] && strcmp(u->etag, etag) == 0;
}

const char *upload_disproved(const struct http_slot *s)
{
	const struct http_answer *a = &s->exchange.answer;
	const struct upload *u = upload_of(s);
	int64_t made = answer_modified(a);

	/* A newer one may have replaced it meanwhile: another write of the same run, say. */
	if (s->req->op != REQ_COMMIT || !u || !u->published || upload_is_named(u, a) || !u->begun ||
	    !made || made >= u->begun)
		return NULL;
	return "an older version of the object stands in its place";
}

/* The upload has begun: its id goes to those who are to join. */
static void upload_begun(const struct http_slot *s)
{
	const struct upload *u = upload_of(s);

	if (s->req->op == REQ_BEGIN && s->req->begin.shared && !u->joined)
		memcpy(s->req->begin.shared->id, u->id, sizeof(u->id));
}

void upload_asked(const struct http_slot *s)
{
	struct upload *u = upload_of(s);

	/* The attempt before may have begun one, whose id nobody knows. */
	if (u->unanswered && s->step == STEP_BEGIN)
		atomic_fetch_add(&s->channel->store->uploads_unknown, 1);
	u->unanswered = true;
}

enum http_step upload_begin(struct http_slot *s)
{
	struct request *req = s->req;
	struct upload *u = upload_of(s);
	const char *refusal;

	/* A further attempt finds it begun. */
	if (!u) {
		u = upload_take(s->channel);
		if (!u)
			return slot_refuse(
				s, -EMFILE,
				"more objects were begun at once than the queue is deep");
		req->object->state[0] = (uintptr_t)u;
		upload_init(s, u);
		refusal = upload_refusal(s, u);
		if (refusal) {
			upload_drop(req->object);
			return slot_refuse(s, -EINVAL, refusal);
		}
	}
	if (!u->whole && !u->joined && s->channel->store->dialect->begins)
		return STEP_BEGIN;
	upload_begun(s);
	return STEP_OVER;
}

enum http_step upload_write(struct http_slot *s)
{
	struct upload *u = upload_of(s);
	struct request *req = s->req;
	bool last = u && u->length && req->offset + req->length == u->length;

	if (!u)
		return slot_refuse(s, -EBADF, NULL);
	if (u->whole && req->offset == 0 && req->length == u->length)
		return STEP_PUT;
	if (u->whole || req->offset % u->part || req->length > u->part ||
	    (req->length < u->part && u->length && !last))
		return slot_refuse(s, -EINVAL, NULL);
	return STEP_PART;
}

/* The next page of the parts that the store has. */
static enum http_step upload_list_parts(struct http_slot *s)
{
	memset(&s->parts, 0, sizeof(s->parts));
	s->element_number = s->element_size = 0;
	return STEP_PARTS;
}

/* The commit is over: the store has said that it has the bytes that it was sent. */
static enum http_step upload_believe(struct http_slot *s)
{
	s->req->answer.done_bytes = upload_of(s)->length;
	upload_drop(s->req->object);
	return STEP_OVER;
}

enum http_step upload_commit(struct http_slot *s)
{
	struct upload *u = upload_of(s);

	if (!u || u->joined)
		return slot_refuse(s, -EBADF, NULL);
	if (u->published && u->unasked)
		return upload_believe(s);
	if (u->published)
		return STEP_HEAD;
	if (u->shared && !u->complete)
		return upload_list_parts(s);
	if (u->whole)
		return STEP_PUT;
	if (u->shared || atomic_load(&u->written) > 0)
		return STEP_COMPLETE;
	/* An object of unknown length is empty: no upload can be, so it is dropped, and a PUT makes
	 * the object. */
	return u->id[0] && s->channel->store->dialect->begins ? STEP_ABANDON : STEP_PUT;
}

enum http_step upload_abort(struct http_slot *s)
{
	struct upload *u = upload_of(s);

	if (upload_named(s->channel, s->req))
		return STEP_ABANDON;
	if (!u)
		return slot_refuse(s, -EBADF, NULL);
	if (u->published && !u->joined)
		return STEP_DELETE;
	if (u->id[0] && !u->joined && s->channel->store->dialect->begins)
		return STEP_ABANDON;
	if (u->unanswered)
		atomic_fetch_add(&s->channel->store->uploads_unknown, 1);
	upload_drop(s->req->object);
	return STEP_OVER;
}

enum http_step upload_close(struct http_slot *s)
{
	struct object *o = s->req->object;

	if (o->state[0] > OBJECT_OPEN && !upload_of(s)->joined)
		return slot_refuse(s, -EBADF, NULL);
	if (o->state[0] > OBJECT_OPEN)
		upload_drop(o);
	memset(o->state, 0, sizeof(o->state));
	return STEP_OVER;
}

int upload_part_listed(struct http_slot *s, uint64_t number, uint64_t bytes, const char *etag)
{
	const struct upload *u = upload_of(s);
	uint64_t parts = upload_parts(s);

	if (number == 0 || number > parts ||
	    bytes != (number < parts ? u->part : u->length - (parts - 1) * u->part))
		return 0;
	if (etag) {
		size_t n = strlen(etag);

		if (n == 0 || n >= PART_ETAG_BYTES)
			return -EPROTO;
		memcpy(u->etags[number - 1], etag, n + 1);
	}
	s->parts.count++;
	s->parts.bytes += bytes;
	return 0;
}

void upload_incomplete(struct http_slot *s)
{
	struct upload *u = upload_of(s);

	s->req->answer.status = -ENODATA;
	s->req->answer.fault = REQ_FAULT_OTHER;
	s->req->answer.transient = false;
	s->req->answer.why = "parts of the upload have not come, or not whole";
	s->req->answer.done_bytes = u->listed_bytes;
	/* They may still come: a further commit asks for all of them again. */
	u->listed = u->listed_bytes = u->listed_to = 0;
}

/* A page of parts is read. */
static enum http_step upload_listed(struct http_slot *s)
{
	struct upload *u = upload_of(s);

	if (!s->parts.whole) {
		s->req->answer.fault = REQ_FAULT_OTHER;
		return slot_refuse(s, -EPROTO,
				   "the server's answer is no list of parts, so the store does not "
				   "list them, and it cannot be known whether all have come");
	}
	u->listed += s->parts.count;
	u->listed_bytes += s->parts.bytes;
	if (s->parts.truncated && s->parts.next > u->listed_to) {
		u->listed_to = s->parts.next;
		return upload_list_parts(s);
	}
	if (u->listed != upload_parts(s)) {
		upload_incomplete(s);
		return STEP_OVER;
	}
	u->complete = true;
	return STEP_COMPLETE;
}

/* Published: a commit asks for the size that the store has of it. */
static enum http_step upload_published(struct http_slot *s)
{
	struct upload *u = upload_of(s);

	/* Creating an object without bytes is one request, and so is a PUT that nobody wants verified. */
	if (u->unasked && s->req->op == REQ_COMMIT)
		return upload_believe(s);
	u->published = true;
	return s->req->op == REQ_COMMIT ? STEP_HEAD : STEP_OVER;
}

enum http_step upload_next(struct http_slot *s)
{
	struct upload *u = upload_of(s);
	struct request *req = s->req;

	switch (s->step) {
	case STEP_BEGIN:
		u->begun = upload_since(s);
		upload_begun(s);
		return STEP_OVER;
	case STEP_PUT:
		req->answer.done_bytes = req->op == REQ_COMMIT ? 0 : req->length;
		return upload_published(s);
	case STEP_PART:
		atomic_fetch_add(&u->written, req->length);
		req->answer.done_bytes = req->length;
		return STEP_OVER;
	case STEP_PARTS:
		return upload_listed(s);
	case STEP_COMPLETE:
		return upload_published(s);
	case STEP_ABANDON:
		if (u && req->op == REQ_COMMIT) {
			u->id[0] = '\0';
			return STEP_PUT;
		}
		if (u)
			upload_drop(req->object);
		return STEP_OVER;
	case STEP_HEAD:
	case STEP_DELETE:
		if (req->op == REQ_COMMIT || req->op == REQ_ABORT)
			upload_drop(req->object);
		return STEP_OVER;
	default:
		return STEP_OVER;
	}
}
