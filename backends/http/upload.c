/* New versions of objects: by one PUT or in parts, by one rank or by many. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/http/http.h"
#include "core/content/random.h"

/* Whole pages, since an upload that begins gives its pages back: it must not take those of another that is under way. */
static uint64_t etag_bytes(const struct http_channel *ch)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t bytes = ch->channel->store->ops->parts_max * PART_ETAG_BYTES;

	return (bytes + page - 1) / page * page;
}

int uploads_open(struct http_channel *ch, uint32_t depth)
{
	uint64_t one = etag_bytes(ch);

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

void uploads_close(struct http_channel *ch)
{
	if (ch->etags)
		munmap(ch->etags, ch->etag_bytes);
	free(ch->uploads);
}

static struct upload *take(struct http_channel *ch)
{
	for (uint32_t i = 0; i < ch->channel->depth; i++) {
		struct upload *u = &ch->uploads[i];
		bool used = false;

		if (atomic_compare_exchange_strong(&u->used, &used, true))
			return u;
	}
	return NULL;
}

static void drop(struct object *o)
{
	struct upload *u = (struct upload *)(uintptr_t)o->state[0];

	memset(o->state, 0, sizeof(o->state));
	atomic_store(&u->used, false);
}

bool upload_whole(const struct http_channel *ch, const struct request *req)
{
	uint64_t part =
		req->begin.part ? req->begin.part : http_part(ch->store->options, req->length);

	return req->length && req->length <= part && !req->begin.shared;
}

/* Where the store gives uploads no name of its own: one that no other upload of the object has had. */
static void name(struct slot *s, struct upload *u)
{
	struct text t = text_in(u->id, sizeof(u->id));
	uint64_t draw =
		random_at(clock_utc_ns(), s->channel->channel->store->place.rank, (uintptr_t)u);

	text_add_hex(&t, (const uint8_t *)&draw, (UPLOAD_NAME_BYTES - 1) / 2);
}

static void init(struct slot *s, struct upload *u)
{
	const struct http_store *http = s->channel->store;
	const struct request *req = s->req;

	u->length = req->length;
	u->part = req->begin.part ? req->begin.part : http_part(http->options, req->length);
	u->whole = upload_whole(s->channel, req);
	u->shared = req->begin.shared;
	u->joined = req->begin.shared && req->begin.shared->id[0];
	u->published = false;
	u->proven = false;
	u->met = u->met_bytes = u->after = 0;
	atomic_store(&u->written, 0);
	u->id[0] = '\0';
	if (req->begin.shared && u->joined)
		memcpy(u->id, req->begin.shared->id, sizeof(u->id));
	else if (!http->dialect->begins)
		name(s, u);
	if (u->etags)
		madvise(u->etags, etag_bytes(s->channel), MADV_DONTNEED);
}

/* What the store would not take, said before it is asked. NULL: nothing. */
static const char *forbidden(const struct slot *s, const struct upload *u)
{
	const struct backend_ops *ops = s->channel->channel->store->ops;

	if (u->shared && !u->length)
		return "an object that many ranks write has a length that is known";
	if (u->whole)
		return NULL;
	if (u->part < ops->part_min && (!u->length || u->length > u->part))
		return "parts of an upload have at least 5 MiB; set \"transfer\" to 5 MiB or more";
	if (u->length && (u->length - 1) / u->part >= ops->parts_max)
		return "too many parts; set a larger \"transfer\"";
	return NULL;
}

/* For the others who are to join. */
static void begun(const struct slot *s)
{
	const struct upload *u = slot_upload(s);

	if (s->req->op == REQ_BEGIN && s->req->begin.shared && !u->joined)
		memcpy(s->req->begin.shared->id, u->id, sizeof(u->id));
}

void upload_begin(struct slot *s)
{
	struct request *req = s->req;
	struct upload *u = slot_upload(s);

	/* A further attempt finds it begun. */
	if (!u) {
		u = take(s->channel);
		if (!u) {
			req->answer.why = "more objects begun at once than the queue is deep";
			slot_done(s, -EMFILE);
			return;
		}
		req->object->state[0] = (uintptr_t)u;
		init(s, u);
		req->answer.why = forbidden(s, u);
		if (req->answer.why) {
			drop(req->object);
			slot_done(s, -EINVAL);
			return;
		}
	}
	if (!u->whole && !u->joined && s->channel->store->dialect->begins) {
		slot_step(s, STEP_BEGIN);
		return;
	}
	begun(s);
	slot_done(s, 0);
}

void upload_write(struct slot *s)
{
	struct upload *u = slot_upload(s);
	struct request *req = s->req;
	bool last = u && u->length && req->offset + req->length == u->length;

	if (!u)
		slot_done(s, -EBADF);
	else if (u->whole && req->offset == 0 && req->length == u->length)
		slot_step(s, STEP_PUT);
	else if (u->whole || req->offset % u->part || req->length > u->part ||
		 (req->length < u->part && u->length && !last))
		slot_done(s, -EINVAL);
	else
		slot_step(s, STEP_PART);
}

/* The next page of what the store has. */
static void ask_for_parts(struct slot *s)
{
	s->met = s->met_bytes = s->next = 0;
	s->number = s->entry_size = 0;
	s->truncated = false;
	slot_step(s, STEP_PARTS);
}

void upload_commit(struct slot *s)
{
	struct upload *u = slot_upload(s);

	if (!u || u->joined)
		slot_done(s, -EBADF);
	else if (u->published)
		slot_step(s, STEP_HEAD);
	else if (u->shared && !u->proven)
		ask_for_parts(s);
	else if (u->whole || (!u->shared && atomic_load(&u->written) == 0))
		slot_step(s, STEP_PUT);
	else
		slot_step(s, STEP_COMPLETE);
}

void upload_abort(struct slot *s)
{
	struct upload *u = slot_upload(s);

	if (!u) {
		slot_done(s, -EBADF);
	} else if (u->published && !u->joined) {
		slot_step(s, STEP_DELETE);
	} else if (u->id[0] && !u->joined && s->channel->store->dialect->begins) {
		slot_step(s, STEP_ABANDON);
	} else {
		drop(s->req->object);
		slot_done(s, 0);
	}
}

void upload_close(struct slot *s)
{
	struct object *o = s->req->object;

	if (o->state[0] > OBJECT_OPEN && !slot_upload(s)->joined) {
		slot_done(s, -EBADF);
		return;
	}
	if (o->state[0] > OBJECT_OPEN)
		drop(o);
	memset(o->state, 0, sizeof(o->state));
	slot_done(s, 0);
}

int upload_met(struct slot *s, uint64_t number, uint64_t bytes, const char *etag)
{
	const struct upload *u = slot_upload(s);
	uint64_t parts = slot_parts(s);

	if (number == 0 || number > parts ||
	    bytes != (number < parts ? u->part : u->length - (parts - 1) * u->part))
		return 0;
	if (etag) {
		size_t n = strlen(etag);

		if (n == 0 || n >= PART_ETAG_BYTES)
			return -EPROTO;
		memcpy(u->etags[number - 1], etag, n + 1);
	}
	s->met++;
	s->met_bytes += bytes;
	return 0;
}

int upload_lacks(struct slot *s)
{
	struct upload *u = slot_upload(s);

	s->req->answer.status = -ENODATA;
	s->req->answer.fault = REQ_FAULT_OTHER;
	s->req->answer.transient = false;
	s->req->answer.why = "parts of the upload have not come, or not whole";
	s->req->answer.done_bytes = u->met_bytes;
	/* They may come yet: a further commit asks for all anew. */
	u->met = u->met_bytes = u->after = 0;
	return -ENODATA;
}

/* A page of parts. True: the io is over. */
static bool page(struct slot *s)
{
	struct upload *u = slot_upload(s);

	u->met += s->met;
	u->met_bytes += s->met_bytes;
	if (s->truncated && s->next > u->after) {
		u->after = s->next;
		ask_for_parts(s);
		return false;
	}
	if (u->met != slot_parts(s)) {
		upload_lacks(s);
		return true;
	}
	u->proven = true;
	slot_step(s, STEP_COMPLETE);
	return false;
}

bool upload_succeeds(struct slot *s)
{
	struct upload *u = slot_upload(s);
	struct request *req = s->req;

	switch (s->step) {
	case STEP_BEGIN:
		begun(s);
		return true;
	case STEP_PUT:
		u->published = true;
		req->answer.done_bytes = req->op == REQ_COMMIT ? 0 : req->length;
		break;
	case STEP_PART:
		atomic_fetch_add(&u->written, req->length);
		req->answer.done_bytes = req->length;
		return true;
	case STEP_PARTS:
		return page(s);
	case STEP_COMPLETE:
		u->published = true;
		break;
	case STEP_ABANDON:
		drop(req->object);
		return true;
	case STEP_HEAD:
	case STEP_DELETE:
		if (req->op == REQ_COMMIT || req->op == REQ_ABORT)
			drop(req->object);
		return true;
	default:
		return true;
	}
	/* Published: the size that the store has of it. */
	if (req->op != REQ_COMMIT)
		return true;
	slot_step(s, STEP_HEAD);
	return false;
}
