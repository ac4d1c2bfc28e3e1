/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of Azure: the request of each step, and its signature. */
#include <errno.h>
#include <openssl/crypto.h>
#include <string.h>

#include "backends/http/azure/azure.h"

enum { AZURE_ACCOUNT_KEY_BYTES = 128, AZURE_RANGE_MD5_MAX = 4 << 20 };

static const char azure_version[] = "2021-12-02";

/* The path of the blob, or of the container where key is NULL. */
static void azure_path(struct http_slot *s, const char *key)
{
	const struct http_store *http = s->channel->store;
	const char *const pieces[] = {
		slot_server(s)->base, "/", http->bucket, key ? "/" : "", key ? http->prefix : "",
		key ? key : "",       NULL};

	http_request_path(&s->request, pieces);
}

/* Names of blocks all have the same length, as they must. */
static void azure_block_name(char out[AZURE_BLOCK_NAME_BYTES], const struct upload *u,
			     uint64_t number)
{
	struct text t = text_in(out, AZURE_BLOCK_NAME_BYTES);
	uint8_t raw[AZURE_BLOCK_RAW_BYTES];

	memcpy(raw, u->id, UPLOAD_NAME_BYTES - 1);
	for (int i = AZURE_BLOCK_RAW_BYTES - 1; i >= UPLOAD_NAME_BYTES - 1; i--) {
		raw[i] = (uint8_t)('0' + number % 10);
		number /= 10;
	}
	text_add_base64(&t, raw, sizeof(raw));
}

static const char *azure_block_piece(const struct http_slot *s, uint64_t piece,
				     char buffer[PIECE_BYTES])
{
	struct text t = text_in(buffer, PIECE_BYTES);
	uint64_t parts = upload_parts(s);
	char name[AZURE_BLOCK_NAME_BYTES];

	if (piece == 0)
		return "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>";
	if (piece == parts + 1)
		return "</BlockList>";
	if (piece > parts + 1)
		return NULL;
	azure_block_name(name, upload_of(s), piece);
	text_add(&t, "<Latest>");
	text_add(&t, name);
	text_add(&t, "</Latest>");
	return buffer;
}

static void azure_make_list(struct http_slot *s)
{
	struct http_request *r = &s->request;
	const struct request *req = s->req;
	char prefix[URI_BYTES + OBJECT_KEY_BYTES];
	struct text t = text_in(prefix, sizeof(prefix));
	struct listing_from from = listing_from(s, NULL);

	text_add(&t, s->channel->store->prefix);
	text_add(&t, req->object->key);
	http_request_query(r, "restype", "container");
	http_request_query(r, "comp", "list");
	http_request_query(r, "delimiter", "/");
	http_request_query_u64(r, "maxresults", req->length ? req->length : LIST_PAGE_ENTRIES);
	http_request_query(r, "prefix", prefix);
	if (from.marker[0])
		http_request_query(r, "marker", from.marker);
}

/* The service makes the MD5 of a range that is not too long when it is asked to. Of a whole blob it
 * tells the MD5 that it has, if there is one. */
static int azure_make_get(struct http_slot *s)
{
	const struct request *req = s->req;
	bool whole = slot_reads_all(s), summed = s->channel->store->options->checksum == SUM_MD5;
	uint64_t left = req->length - req->answer.done_bytes;

	if (!whole)
		http_request_range(&s->request, "range", req->offset + req->answer.done_bytes,
				   left);
	if (!summed || (!whole && left > AZURE_RANGE_MD5_MAX))
		return 0;
	if (!whole)
		http_request_header(&s->request, "x-ms-range-get-content-md5", "true");
	return slot_sum_received(s);
}

static int azure_make_step(struct http_slot *s)
{
	struct http_request *r = &s->request;
	const struct request *req = s->req;
	char name[AZURE_BLOCK_NAME_BYTES];

	switch (s->step) {
	case STEP_GET:
		return azure_make_get(s);
	case STEP_EXPLAIN:
		http_request_range(r, "range", 0, 1);
		break;
	case STEP_PUT:
		own_condition(s, r);
		http_request_header(r, "x-ms-blob-type", "BlockBlob");
		body_of_object(s, req->op == REQ_WRITE ? req->length : 0);
		return slot_sum_object(s);
	case STEP_PART:
		azure_block_name(name, upload_of(s), upload_part_number(s));
		http_request_query(r, "comp", "block");
		http_request_query(r, "blockid", name);
		body_of_object(s, req->length);
		return slot_sum_object(s);
	case STEP_PARTS:
		http_request_query(r, "comp", "blocklist");
		http_request_query(r, "blocklisttype", "uncommitted");
		break;
	case STEP_COMPLETE:
		http_request_query(r, "comp", "blocklist");
		body_of_pieces(s, azure_block_piece);
		break;
	case STEP_LIST:
		azure_make_list(s);
		break;
	default:
		break;
	}
	return 0;
}

static int azure_sign(struct http_slot *s)
{
	struct http_channel *ch = s->channel;
	const struct credentials *c = &ch->credentials.c;
	char text[CREDENTIAL_TOKEN_BYTES + 8], date[DATE_HTTP_BYTES];
	struct text t = text_in(text, sizeof(text));
	uint8_t key[AZURE_ACCOUNT_KEY_BYTES];
	int64_t now = http_now(ch->store);
	int bytes;

	switch (ch->store->credentials.kind) {
	case CREDENTIAL_SHARED:
		bytes = text_from_base64(c->secret, key, sizeof(key));
		if (bytes < 0)
			return -EKEYREJECTED;
		sign_shared_key(&s->request, c->key, key, (size_t)bytes, now);
		OPENSSL_cleanse(key, sizeof(key));
		return 0;
	case CREDENTIAL_BEARER:
		date_http(date, now);
		http_request_header(&s->request, "x-ms-date", date);
		text_add(&t, "Bearer ");
		text_add(&t, c->token);
		http_request_header(&s->request, "authorization", text);
		return 0;
	default:
		return 0;
	}
}

int azure_make(struct http_slot *s)
{
	static const enum http_method methods[] = {
		[STEP_HEAD] = HTTP_HEAD, [STEP_GET] = HTTP_GET,      [STEP_PUT] = HTTP_PUT,
		[STEP_PART] = HTTP_PUT,  [STEP_COMPLETE] = HTTP_PUT, [STEP_DELETE] = HTTP_DELETE,
		[STEP_LIST] = HTTP_GET,  [STEP_EXPLAIN] = HTTP_GET,  [STEP_PARTS] = HTTP_GET,
	};
	const struct http_channel *ch = s->channel;
	bool shared = ch->store->credentials.kind == CREDENTIAL_SAS;
	int rc;

	slot_request_begin(s, methods[s->step]);
	azure_path(s, s->step == STEP_LIST ? NULL : s->req->object->key);
	http_request_header(&s->request, "x-ms-version", azure_version);
	rc = azure_make_step(s);
	if (rc == 0)
		rc = azure_sign(s);
	if (rc < 0)
		return rc;
	return http_request_finish(&s->request, shared ? ch->credentials.c.token : NULL,
				   &s->exchange);
}
