/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of S3: the request of each step, and its signature. */
#include <errno.h>
#include <openssl/evp.h>
#include <string.h>

#include "backends/http/s3/s3.h"

enum { S3_PRESIGNED_S = 3600 };

/* The path of the object, or of the bucket where key is NULL. */
static void s3_path(struct http_slot *s, struct http_request *r, const char *key)
{
	const struct http_store *http = s->channel->store;
	bool virtual_host = http->virtual_host;
	const char *const pieces[] = {slot_server(s)->base,
				      virtual_host ? "" : "/",
				      virtual_host ? "" : http->bucket,
				      key || virtual_host ? "/" : "",
				      key ? http->prefix : "",
				      key ? key : "",
				      NULL};

	http_request_path(r, pieces);
}

static void s3_add_to_hash(void *context, const void *data, uint64_t n)
{
	EVP_DigestUpdate(context, data, n);
}

static int s3_hash_payload(struct http_slot *s, uint64_t bytes, char out[SHA256_TEXT_BYTES])
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	uint8_t digest[SHA256_BYTES] = {0};
	struct text t = text_in(out, SHA256_TEXT_BYTES);
	int rc = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) ? 0 : -ENOMEM;

	if (rc == 0)
		rc = body_each(s, bytes, s3_add_to_hash, context);
	if (rc == 0)
		EVP_DigestFinal_ex(context, digest, NULL);
	EVP_MD_CTX_free(context);
	text_add_hex(&t, digest, sizeof(digest));
	return rc;
}

static int s3_sign(struct http_slot *s, struct http_request *r)
{
	struct http_channel *ch = s->channel;
	const struct http_store *http = ch->store;
	const struct credential_copy *c = &ch->credentials;
	char hash[SHA256_TEXT_BYTES], bearer[CREDENTIAL_TOKEN_BYTES + 8];
	struct text t = text_in(bearer, sizeof(bearer));
	int64_t now = http_now(http);
	int rc;

	if (http->credentials.kind == CREDENTIAL_NONE)
		return 0;
	if (http->credentials.kind == CREDENTIAL_BEARER) {
		text_add(&t, "Bearer ");
		text_add(&t, c->c.token);
		http_request_header(r, "authorization", bearer);
		return 0;
	}
	if (http->presigned) {
		sign_v4_query(&ch->v4, r, &c->c, c->generation, http->region, S3_PRESIGNED_S, now);
		return 0;
	}
	if (!http->sign_payload || !r->body_bytes) {
		sign_v4(&ch->v4, r, &c->c, c->generation, http->region, SIGN_UNSIGNED, now);
		return 0;
	}
	rc = s3_hash_payload(s, r->body_bytes, hash);
	sign_v4(&ch->v4, r, &c->c, c->generation, http->region, hash, now);
	return rc;
}

/* The body of CompleteMultipartUpload: its beginning, parts 1, 2 …, its end. A part that was not
 * written is left out. */
static const char *s3_complete_piece(const struct http_slot *s, uint64_t piece,
				     char buffer[PIECE_BYTES])
{
	const struct upload *u = upload_of(s);
	uint64_t most = s->channel->channel->store->ops->parts_max;
	uint64_t parts = u->length ? upload_parts(s) : most;
	struct text t = text_in(buffer, PIECE_BYTES);
	const char *etag, *sum;

	if (piece == 0)
		return "<CompleteMultipartUpload>";
	if (piece == parts + 1)
		return "</CompleteMultipartUpload>";
	if (piece > parts + 1)
		return NULL;
	if (!u->etags[piece - 1][0])
		return "";
	text_add(&t, "<Part><PartNumber>");
	text_add_u64(&t, piece);
	text_add(&t, "</PartNumber><ETag>");
	etag = u->etags[piece - 1];
	sum = strchr(etag, '\n');
	text_add_n(&t, etag, sum ? (size_t)(sum - etag) : strlen(etag));
	text_add(&t, "</ETag>");
	if (sum) {
		text_add(&t, "<ChecksumCRC32C>");
		text_add(&t, sum + 1);
		text_add(&t, "</ChecksumCRC32C>");
	}
	text_add(&t, "</Part>");
	return buffer;
}

static void s3_query_start_after(struct http_request *r, const char *prefix, const char *name)
{
	char key[URI_BYTES + OBJECT_KEY_BYTES + SPLIT_NAME_BYTES];
	struct text t = text_in(key, sizeof(key));

	text_add(&t, prefix);
	text_add(&t, name);
	http_request_query(r, "start-after", key);
}

/* A page of open uploads, which goes on after a key and an id. */
static void s3_make_uploads(struct http_request *r, const char *marker, uint64_t most)
{
	char key[LIST_MARKER_BYTES];
	struct text t = text_in(key, sizeof(key));
	const char *id = strrchr(marker, '\n');

	http_request_query(r, "uploads", "");
	http_request_query_u64(r, "max-uploads", most);
	if (!id)
		return;
	text_add_n(&t, marker, (size_t)(id - marker));
	http_request_query(r, "key-marker", key);
	if (id[1])
		http_request_query(r, "upload-id-marker", id + 1);
}

/* A page of the folder, or of a probe the one name that follows. */
static void s3_make_list(struct http_slot *s, struct http_request *r)
{
	const struct http_store *http = s->channel->store;
	const struct request *req = s->req;
	char prefix[URI_BYTES + OBJECT_KEY_BYTES], after[SPLIT_NAME_BYTES];
	struct text t = text_in(prefix, sizeof(prefix));
	struct listing_from from = listing_from(s, after);
	uint64_t most = req->length ? req->length : LIST_PAGE_ENTRIES;

	text_add(&t, http->prefix);
	text_add(&t, req->object->key);
	http_request_query(r, "encoding-type", "url");
	http_request_query(r, "prefix", prefix);
	if (req->listing->uploads) {
		s3_make_uploads(r, from.marker, most);
		return;
	}
	http_request_query(r, "list-type", "2");
	http_request_query(r, "delimiter", "/");
	http_request_query_u64(r, "max-keys", s->step == STEP_PROBE ? 1 : most);
	if (from.marker[0])
		http_request_query(r, "continuation-token", from.marker);
	else if (from.after[0])
		s3_query_start_after(r, prefix, from.after);
}

bool s3_sums_parts(const struct http_slot *s)
{
	const struct http_store *http = s->channel->store;

	return http->dialect->sums_parts && http->options->checksum == SUM_CRC32C;
}

/* S3 tells a CRC-32C when it is asked to, Google both sums in any case, and both only of whole
 * objects. S3's ETag need not be an MD5. */
static int s3_ask_for_sum(struct http_slot *s, struct http_request *r)
{
	const struct http_store *http = s->channel->store;

	if (http->dialect->sums_parts && http->options->checksum != SUM_CRC32C)
		return 0;
	if (http->dialect->sums_parts)
		http_request_header(r, "x-amz-checksum-mode", "ENABLED");
	return slot_sum_received(s);
}

/* Amazon wants to know where the bucket shall be, except in its first region; other servers need
 * not know that name. */
static const char *s3_bucket_piece(const struct http_slot *s, uint64_t piece,
				   char buffer[PIECE_BYTES])
{
	const struct http_store *http = s->channel->store;
	struct text t = text_in(buffer, PIECE_BYTES);

	if (piece > 0)
		return NULL;
	if (!strstr(slot_server(s)->host, ".amazonaws.com") ||
	    strcmp(http->region, "us-east-1") == 0)
		return "";
	text_add(&t, "<CreateBucketConfiguration><LocationConstraint>");
	text_add(&t, http->region);
	text_add(&t, "</LocationConstraint></CreateBucketConfiguration>");
	return buffer;
}

static int s3_make_step(struct http_slot *s, struct http_request *r)
{
	const struct request *req = s->req;

	switch (s->step) {
	case STEP_GET:
		if (slot_reads_all(s))
			return s3_ask_for_sum(s, r);
		http_request_range(r, "range", req->offset + req->answer.done_bytes,
				   req->length - req->answer.done_bytes);
		break;
	case STEP_EXPLAIN:
		http_request_range(r, "range", 0, 1);
		break;
	case STEP_PUT:
		own_condition(s, r);
		body_of_object(s, req->op == REQ_WRITE ? req->length : 0);
		return slot_sum_object(s);
	case STEP_BEGIN:
		http_request_query(r, "uploads", "");
		if (s3_sums_parts(s))
			http_request_header(r, "x-amz-checksum-algorithm", "CRC32C");
		break;
	case STEP_PART:
		http_request_query_u64(r, "partNumber", upload_part_number(s));
		http_request_query(r, "uploadId", upload_of(s)->id);
		body_of_object(s, req->length);
		return slot_sum_object(s);
	case STEP_PARTS:
		http_request_query(r, "uploadId", upload_of(s)->id);
		if (upload_of(s)->listed_to)
			http_request_query_u64(r, "part-number-marker", upload_of(s)->listed_to);
		break;
	case STEP_COMPLETE:
		http_request_query(r, "uploadId", upload_of(s)->id);
		body_of_pieces(s, s3_complete_piece);
		break;
	case STEP_ABANDON:
		http_request_query(r, "uploadId", upload_dropped_id(s));
		break;
	case STEP_LIST:
	case STEP_PROBE:
		s3_make_list(s, r);
		break;
	case STEP_DELETE_MANY:
		return s3_delete_make(s, r);
	case STEP_MAKE:
		body_of_pieces(s, s3_bucket_piece);
		break;
	default:
		break;
	}
	return 0;
}

int s3_make(struct http_slot *s)
{
	static const enum http_method methods[] = {
		[STEP_HEAD] = HTTP_HEAD,        [STEP_GET] = HTTP_GET,
		[STEP_PUT] = HTTP_PUT,          [STEP_BEGIN] = HTTP_POST,
		[STEP_PART] = HTTP_PUT,         [STEP_COMPLETE] = HTTP_POST,
		[STEP_ABANDON] = HTTP_DELETE,   [STEP_DELETE] = HTTP_DELETE,
		[STEP_LIST] = HTTP_GET,         [STEP_EXPLAIN] = HTTP_GET,
		[STEP_DELETE_MANY] = HTTP_POST, [STEP_PARTS] = HTTP_GET,
		[STEP_PROBE] = HTTP_GET,        [STEP_MAKE] = HTTP_PUT,
		[STEP_DROP] = HTTP_DELETE,
	};
	bool of_bucket = s->step == STEP_LIST || s->step == STEP_PROBE ||
			 s->step == STEP_DELETE_MANY || s->step == STEP_MAKE ||
			 s->step == STEP_DROP;
	struct http_request *r = &s->request;
	int rc;

	slot_request_begin(s, methods[s->step]);
	s3_path(s, r, of_bucket ? NULL : s->req->object->key);
	rc = s3_make_step(s, r);
	if (rc == 0)
		rc = s3_sign(s, r);
	if (rc < 0)
		return rc;
	return http_request_finish(r, NULL, &s->exchange);
}
