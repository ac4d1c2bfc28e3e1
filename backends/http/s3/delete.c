/* SPDX-License-Identifier: Apache-2.0 */
/* DeleteObjects: deletes up to a thousand keys by one request, whose answer says of each what
 * became of it. The store is asked to name those that are gone, too ("Quiet" is not set): a key
 * counts as deleted when the store says so, not when it says nothing. */
#include <errno.h>
#include <string.h>

#include "backends/http/s3/s3.h"

enum { S3_KEY_BYTES = 1024 };

/* Writes so that XML reads the same: markup and ends of lines are escaped. */
static void delete_add_escaped(struct text *t, const char *key)
{
	for (; *key; key++) {
		switch (*key) {
		case '&':
			text_add(t, "&amp;");
			break;
		case '<':
			text_add(t, "&lt;");
			break;
		case '>':
			text_add(t, "&gt;");
			break;
		case '\t':
			text_add(t, "&#9;");
			break;
		case '\n':
			text_add(t, "&#10;");
			break;
		case '\r':
			text_add(t, "&#13;");
			break;
		default:
			text_add_char(t, *key);
		}
	}
}

/* The body: its beginning, a piece for each key, its end. */
static const char *delete_piece(const struct http_slot *s, uint64_t piece, char buffer[PIECE_BYTES])
{
	const struct request *req = s->req;
	struct text t = text_in(buffer, PIECE_BYTES);

	if (piece == 0)
		return "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
	if (piece == req->batch.count + 1ull)
		return "</Delete>";
	if (piece > req->batch.count + 1ull)
		return NULL;
	if (!req->batch.keys[piece - 1].again)
		return "";
	text_add(&t, "<Object><Key>");
	delete_add_escaped(&t, s->channel->store->prefix);
	delete_add_escaped(&t, req->batch.keys[piece - 1].key);
	text_add(&t, "</Key></Object>");
	return buffer;
}

/* Keys that cannot be in the request are answered here. Returns how many can. */
static uint32_t delete_choose_keys(struct http_slot *s)
{
	size_t prefix = strlen(s->channel->store->prefix);
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->req->batch.count; i++) {
		struct request_key *k = &s->req->batch.keys[i];
		const unsigned char *c = (const unsigned char *)k->key;

		if (!k->again)
			continue;
		while (*c >= ' ' || *c == '\t' || *c == '\n' || *c == '\r')
			c++;
		k->again = *c == '\0' && prefix + strlen(k->key) <= S3_KEY_BYTES;
		n += k->again;
		if (k->again)
			continue;
		k->status = *c ? -EINVAL : -ENAMETOOLONG;
		k->why = *c ? "a delete of several keys cannot hold a control character"
			    : "keys have 1024 bytes at most";
	}
	return n;
}

int s3_delete_make(struct http_slot *s, struct http_request *r)
{
	int rc;

	if (!delete_choose_keys(s)) {
		s3_deleted(s);
		return s->req->answer.status ? s->req->answer.status : -EINVAL;
	}
	http_request_query(r, "delete", "");
	body_of_pieces(s, delete_piece);
	/* Without it S3 refuses the request. */
	rc = slot_sum_sent(s, SUM_MD5);
	if (rc < 0)
		return rc;
	http_request_header(r, "content-md5", s->sum_sent);
	http_request_header(r, "content-type", "application/xml");
	return 0;
}

/* The key that the answer names; as a rule they come in the order of the request. NULL: it is none
 * of those that were asked for and have no answer yet. */
static struct request_key *delete_find_key(struct http_slot *s, const char *name)
{
	const struct request *req = s->req;
	const char *prefix = s->channel->store->prefix;
	size_t n = strlen(prefix);

	if (strncmp(name, prefix, n) != 0)
		return NULL;
	for (uint32_t i = 0; i < req->batch.count; i++) {
		uint32_t at = (s->keys_answered + i) % req->batch.count;
		struct request_key *k = &req->batch.keys[at];

		if (k->status != -EINPROGRESS || strcmp(k->key, name + n) != 0)
			continue;
		s->keys_answered = at + 1;
		return k;
	}
	return NULL;
}

int s3_delete_element(struct http_slot *s, const char *path, const char *text)
{
	struct http_answer *a = &s->exchange.answer;
	struct request_key *k;

	if (strcmp(path, "DeleteResult/Deleted/Key") == 0 ||
	    strcmp(path, "DeleteResult/Error/Key") == 0) {
		memcpy(s->text, text, strlen(text) + 1);
	} else if (strcmp(path, "DeleteResult/Deleted/DeleteMarker") == 0) {
		/* The code of no error: what is deleted is hidden by a marker. */
		memcpy(a->code, "version", sizeof("version") * (strcmp(text, "true") == 0));
	} else if (strcmp(path, "DeleteResult/Error/Code") == 0 ||
		   strcmp(path, "Error/Code") == 0) {
		a->code[0] = '\0';
		strncat(a->code, text, sizeof(a->code) - 1);
	} else if (strcmp(path, "DeleteResult/Deleted") == 0 ||
		   strcmp(path, "DeleteResult/Error") == 0) {
		k = delete_find_key(s, s->text);
		if (k && path[13] == 'D') {
			k->status = 0;
			k->why = NULL;
			k->again = false;
			k->version = a->code[0];
		} else if (k) {
			fault_of_key(s, k, a->code);
		}
		s->text[0] = '\0';
		a->code[0] = '\0';
	}
	return 0;
}

void s3_deleted(struct http_slot *s)
{
	struct request *req = s->req;
	const struct request_key *worst = NULL;

	req->answer.transient = false;
	for (uint32_t i = 0; i < req->batch.count; i++) {
		struct request_key *k = &req->batch.keys[i];

		if (k->status == -EINPROGRESS) {
			k->status = -EPROTO;
			k->why = "the store did not say what became of it";
			k->again = false;
		}
		if (k->status && k->status != -ENOENT && (!worst || (k->again && !worst->again)))
			worst = k;
		req->answer.transient = req->answer.transient || k->again;
	}
	req->answer.status = worst ? worst->status : 0;
	req->answer.why = worst ? worst->why : NULL;
	if (!worst)
		req->answer.fault = REQ_FAULT_NONE;
	else if (!req->answer.fault)
		req->answer.fault = REQ_FAULT_OTHER;
}
