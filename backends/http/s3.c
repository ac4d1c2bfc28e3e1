/* s3://bucket/prefix: Amazon S3 and what speaks like it. */
#include "backends/http/s3.h"
#include "backends/backend.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/stores.h"

enum { PRESIGNED_S = 3600 };

struct s3_options {
	struct http_options http; /* must come first */
	uint32_t addressing;
	char region[64];
	char profile[64];
	bool anonymous;
	uint32_t sign;
};

const char *const addressing_names[] = {"auto", "path", "virtual", NULL};
static const char *const sign_names[] = {"header", "query", NULL};
static const char *const payload_names[] = {"unsigned", "sha256", NULL};

static const struct option s3_option_table[] = {
	OPT_CHOICE(
		"addressing", struct s3_options, addressing, .choices = addressing_names,
		.help = "the bucket in the path or before the host's name; auto: as the server is "
			"known to want it"),
	OPT_TEXT("region", struct s3_options, region, .def_text = "",
		 .help = "that requests are signed for; empty: AWS_REGION, else us-east-1"),
	OPT_TEXT("profile", struct s3_options, profile, .def_text = "",
		 .help = "of ~/.aws/credentials; empty: the environment first, then AWS_PROFILE or "
			 "default"),
	OPT_BOOL("anonymous", struct s3_options, anonymous, .def = false,
		 .help = "sends no signature, for public buckets"),
	OPT_CHOICE("sign", struct s3_options, sign, .choices = sign_names,
		   .help = "where the signature stands: in a header, or in the URL (presigned)"),
	OPT_CHOICE("payload", struct s3_options, http.payload, .choices = payload_names,
		   .help = "whether what is written is hashed into the signature"),
	OPT_END,
};

static int find_servers(struct http_store *http, struct err *err)
{
	/* In the order of s3dlio and MLPerf Storage, then Amazon's own. */
	static const char *const lists[] = {"S3_ENDPOINT_URIS", "S3_ENDPOINT_TEMPLATE", NULL};
	static const char *const urls[] = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", NULL};
	const struct texts *given = &http->options->endpoints;
	const char *text = environment_first(lists), *file = getenv("S3_ENDPOINT_FILE");
	char line[1024];
	struct text t = text_in(line, sizeof(line));

	if (given->count && given->items[0][0])
		return servers_parse(&http->servers, (const char *const *)given->items,
				     given->count, "endpoints", err);
	if (!text && file && file[0])
		text_add(&t, "file:");
	else if (!text)
		text = environment_first(urls);
	if (line[0])
		text_add(&t, file);
	else if (text)
		text_add(&t, text);
	else
		text_add(&t, "https://s3.");
	if (!text && strncmp(line, "file:", 5) != 0) {
		text_add(&t, http->region);
		text_add(&t, ".amazonaws.com");
	}
	text = line;
	if (t.full)
		return err_set(err, -EINVAL, "the environment's endpoints are too long a text");
	return servers_parse(&http->servers, &text, 1, "the environment's endpoints", err);
}

/* Lower case, digits and hyphens: without dots, so that a wildcard certificate covers it. */
static bool host_label(const char *bucket)
{
	return strlen(bucket) < 64 &&
	       bucket[strspn(bucket, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

void s3_address(struct http_store *http, enum addressing wanted)
{
	bool public = true;

	for (uint32_t i = 0; i < http->servers.count; i++) {
		const char *host = http->servers.list[i].host;

		public = public &&
			 (strstr(host, ".amazonaws.com") || strstr(host, ".googleapis.com"));
	}
	http->virtual_host = wanted == ADDRESSING_VIRTUAL ||
			     (wanted == ADDRESSING_AUTO && public && host_label(http->bucket));
}

static int s3_open(struct store *store, struct http_store *http, struct err *err)
{
	static const char *const regions[] = {"AWS_REGION", "AWS_DEFAULT_REGION", NULL};
	const struct s3_options *o = store->options;
	const char *region = o->region[0] ? o->region : environment_first(regions);
	struct text t = text_in(http->region, sizeof(http->region));
	int rc = http_split_root(store, "bucket", http, err);

	if (rc < 0)
		return rc;
	if (o->sign && o->http.checksum == SUM_CRC32C)
		return err_set(
			err, -EINVAL,
			"checksum: a URL's signature covers no x-amz-checksum-crc32c, and S3 takes "
			"no such header without; set \"sign\": \"header\", or \"md5\"");
	text_add(&t, region ? region : "us-east-1");
	if (t.full)
		return err_set(err, -EINVAL, "the region's name is too long");
	http->presigned = o->sign;
	http->sign_payload = o->http.payload;
	rc = find_servers(http, err);
	if (rc < 0)
		return rc;
	s3_address(http, (enum addressing)o->addressing);
	return o->anonymous ? 0 : credentials_aws(&http->credentials, o->profile, err);
}

/* The path of the object, or with key NULL of the bucket. */
static void path(struct slot *s, struct http_request *r, const char *key)
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

static void add_to_hash(void *context, const void *data, uint64_t n)
{
	EVP_DigestUpdate(context, data, n);
}

static int hash_payload(struct slot *s, uint64_t bytes, char out[SHA256_TEXT_BYTES])
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	uint8_t digest[SHA256_BYTES] = {0};
	struct text t = text_in(out, SHA256_TEXT_BYTES);
	int rc = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) ? 0 : -ENOMEM;

	if (rc == 0)
		rc = body_each(s, bytes, add_to_hash, context);
	if (rc == 0)
		EVP_DigestFinal_ex(context, digest, NULL);
	EVP_MD_CTX_free(context);
	text_add_hex(&t, digest, sizeof(digest));
	return rc;
}

static int sign(struct slot *s, struct http_request *r)
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
		sign_v4_query(&ch->v4, r, &c->c, c->generation, http->region, PRESIGNED_S, now);
		return 0;
	}
	if (!http->sign_payload || !r->body_bytes) {
		sign_v4(&ch->v4, r, &c->c, c->generation, http->region, SIGN_UNSIGNED, now);
		return 0;
	}
	rc = hash_payload(s, r->body_bytes, hash);
	sign_v4(&ch->v4, r, &c->c, c->generation, http->region, hash, now);
	return rc;
}

/* CompleteMultipartUpload: its beginning, parts 1, 2 …, its end. A part that was not written has none. */
static const char *complete_piece(const struct slot *s, uint64_t piece, char buffer[PIECE_BYTES])
{
	const struct upload *u = slot_upload(s);
	uint64_t most = s->channel->channel->store->ops->parts_max;
	uint64_t parts = u->length ? slot_parts(s) : most;
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

static void make_list(struct slot *s, struct http_request *r)
{
	const struct http_store *http = s->channel->store;
	const struct request *req = s->req;
	char prefix[URI_BYTES + OBJECT_KEY_BYTES];
	struct text t = text_in(prefix, sizeof(prefix));

	text_add(&t, http->prefix);
	text_add(&t, req->object->key);
	http_request_query(r, "list-type", "2");
	http_request_query(r, "delimiter", "/");
	http_request_query(r, "encoding-type", "url");
	http_request_query_u64(r, "max-keys", req->length ? req->length : LIST_PAGE_ENTRIES);
	http_request_query(r, "prefix", prefix);
	if (req->listing->marker[0])
		http_request_query(r, "continuation-token", req->listing->marker);
}

static bool sums_parts(const struct slot *s)
{
	const struct http_store *http = s->channel->store;

	return http->dialect->sums_parts && http->options->checksum == SUM_CRC32C;
}

/* S3 tells a CRC-32C when asked to, Google both sums in any case; both only of whole objects. S3's ETag is no
 * MD5 that one could count on. */
static int ask_for_sum(struct slot *s, struct http_request *r)
{
	const struct http_store *http = s->channel->store;

	if (http->dialect->sums_parts && http->options->checksum != SUM_CRC32C)
		return 0;
	if (http->dialect->sums_parts)
		http_request_header(r, "x-amz-checksum-mode", "ENABLED");
	return slot_sum_received(s);
}

static int make_step(struct slot *s, struct http_request *r)
{
	const struct request *req = s->req;

	switch (s->step) {
	case STEP_GET:
		if (slot_reads_all(s))
			return ask_for_sum(s, r);
		http_request_range(r, "range", req->offset + req->answer.done_bytes,
				   req->length - req->answer.done_bytes);
		break;
	case STEP_EXPLAIN:
		http_request_range(r, "range", 0, 1);
		break;
	case STEP_PUT:
		body_of_object(s, req->op == REQ_WRITE ? req->length : 0);
		return slot_sum_object(s);
	case STEP_BEGIN:
		http_request_query(r, "uploads", "");
		if (sums_parts(s))
			http_request_header(r, "x-amz-checksum-algorithm", "CRC32C");
		break;
	case STEP_PART:
		http_request_query_u64(r, "partNumber", slot_part(s));
		http_request_query(r, "uploadId", slot_upload(s)->id);
		body_of_object(s, req->length);
		return slot_sum_object(s);
	case STEP_PARTS:
		http_request_query(r, "uploadId", slot_upload(s)->id);
		if (slot_upload(s)->after)
			http_request_query_u64(r, "part-number-marker", slot_upload(s)->after);
		break;
	case STEP_COMPLETE:
		http_request_query(r, "uploadId", slot_upload(s)->id);
		body_of_pieces(s, complete_piece);
		break;
	case STEP_ABANDON:
		http_request_query(r, "uploadId", slot_upload(s)->id);
		break;
	case STEP_LIST:
		make_list(s, r);
		break;
	case STEP_DELETE_MANY:
		return s3_make_delete(s, r);
	default:
		break;
	}
	return 0;
}

int s3_make(struct slot *s)
{
	static const enum http_method methods[] = {
		[STEP_HEAD] = HTTP_HEAD,        [STEP_GET] = HTTP_GET,
		[STEP_PUT] = HTTP_PUT,          [STEP_BEGIN] = HTTP_POST,
		[STEP_PART] = HTTP_PUT,         [STEP_COMPLETE] = HTTP_POST,
		[STEP_ABANDON] = HTTP_DELETE,   [STEP_DELETE] = HTTP_DELETE,
		[STEP_LIST] = HTTP_GET,         [STEP_EXPLAIN] = HTTP_GET,
		[STEP_DELETE_MANY] = HTTP_POST, [STEP_PARTS] = HTTP_GET,
	};
	bool of_bucket = s->step == STEP_LIST || s->step == STEP_DELETE_MANY;
	struct http_request *r = &s->request;
	int rc;

	slot_target(s, methods[s->step]);
	path(s, r, of_bucket ? NULL : s->req->object->key);
	rc = make_step(s, r);
	if (rc == 0)
		rc = sign(s, r);
	if (rc < 0)
		return rc;
	return http_request_finish(r, NULL, &s->exchange);
}

static int upload_element(void *user, const char *path, const char *text)
{
	struct upload *u = user;
	size_t n = strlen(text);

	if (strcmp(path, "InitiateMultipartUploadResult/UploadId") != 0)
		return 0;
	if (n >= sizeof(u->id))
		return -EPROTO;
	memcpy(u->id, text, n + 1);
	return 0;
}

static int read_upload(struct slot *s)
{
	struct upload *u = slot_upload(s);
	struct xml *x;
	int rc = xml_open(&x, upload_element, u);

	if (rc < 0)
		return rc;
	rc = xml_feed(x, s->small, s->small_used);
	xml_close(x);
	if (rc == 0 && u->id[0])
		return 0;
	s->req->answer.why = "the server began an upload and did not name it";
	return -EPROTO;
}

int s3_read(struct slot *s)
{
	const char *etag = s->exchange.answer.etag;
	size_t n = strlen(etag);
	struct text t;

	if (s->step == STEP_BEGIN)
		return read_upload(s);
	if (s->step != STEP_PART)
		return 0;
	t = text_in(slot_upload(s)->etags[slot_part(s) - 1], PART_ETAG_BYTES);
	text_add(&t, etag);
	if (sums_parts(s)) {
		text_add_char(&t, '\n');
		text_add(&t, s->sum_sent);
	}
	if (n && !t.full)
		return 0;
	s->req->answer.why = "the server took a part and did not name it";
	return -EPROTO;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "a%20b" or "a+b" to "a b". */
static void decode(char *out, size_t size, const char *s)
{
	size_t n = 0;

	for (; *s && n + 1 < size; s++) {
		if (*s == '%' && digit(s[1]) >= 0 && digit(s[2]) >= 0) {
			out[n++] = (char)(digit(s[1]) << 4 | digit(s[2]));
			s += 2;
		} else {
			out[n++] = *s == '+' ? ' ' : *s;
		}
	}
	out[n] = '\0';
}

/* An upload begun for CRC-32C wants each part's back, too. */
static int part_met(struct slot *s)
{
	char etag[PART_ETAG_BYTES];
	struct text t = text_in(etag, sizeof(etag));

	text_add(&t, s->small);
	if (sums_parts(s) && s->sum_sent[0]) {
		text_add_char(&t, '\n');
		text_add(&t, s->sum_sent);
	}
	s->sum_sent[0] = '\0';
	return t.full ? -EPROTO : upload_met(s, s->number, s->entry_size, etag);
}

/* ListPartsResult: parts in the order of their numbers. */
static int part_element(struct slot *s, const char *path, const char *text)
{
	if (strncmp(path, "ListPartsResult/", 16) != 0)
		return 0;
	path += 16;
	if (strcmp(path, "Part/PartNumber") == 0)
		s->number = strtoull(text, NULL, 10);
	else if (strcmp(path, "Part/Size") == 0)
		s->entry_size = strtoull(text, NULL, 10);
	else if (strcmp(path, "Part/ETag") == 0)
		snprintf(s->small, sizeof(s->small), "%s", text);
	else if (strcmp(path, "Part/ChecksumCRC32C") == 0)
		snprintf(s->sum_sent, sizeof(s->sum_sent), "%s", text);
	else if (strcmp(path, "Part") == 0)
		return part_met(s);
	else if (strcmp(path, "IsTruncated") == 0 && strcmp(text, "true") == 0)
		s->truncated = true;
	else if (strcmp(path, "NextPartNumberMarker") == 0)
		s->next = strtoull(text, NULL, 10);
	return 0;
}

int s3_element(void *slot, const char *path, const char *text)
{
	struct slot *s = slot;
	struct listing *l = s->req->listing;
	size_t n = strlen(text);

	if (s->step == STEP_DELETE_MANY)
		return s3_deleted_element(s, path, text);
	if (s->step == STEP_PARTS)
		return part_element(s, path, text);
	if (strncmp(path, "ListBucketResult/", 17) != 0)
		return 0;
	path += 17;
	if (strcmp(path, "Contents/Key") == 0 || strcmp(path, "CommonPrefixes/Prefix") == 0)
		decode(s->small, sizeof(s->small), text);
	else if (strcmp(path, "Contents/Size") == 0)
		s->entry_size = strtoull(text, NULL, 10);
	else if (strcmp(path, "Contents") == 0)
		return slot_list_entry(s, s->entry_size);
	else if (strcmp(path, "CommonPrefixes") == 0)
		return slot_list_entry(s, LIST_SIZE_UNKNOWN);
	else if (strcmp(path, "IsTruncated") == 0)
		l->more = strcmp(text, "true") == 0;
	else if (strcmp(path, "NextContinuationToken") == 0 && n >= sizeof(l->marker))
		return -EPROTO;
	else if (strcmp(path, "NextContinuationToken") == 0)
		memcpy(l->marker, text, n + 1);
	return 0;
}

static const struct dialect s3_dialect = {
	.name = "S3",
	.begins = true,
	.crc32c_header = "x-amz-checksum-crc32c",
	.crc32c_before = "",
	.sums_parts = true,
	.open = s3_open,
	.make = s3_make,
	.read = s3_read,
	.element = s3_element,
	.deleted = s3_deleted,
};

static int store_open_s3(struct store *store, struct err *err)
{
	return http_open(store, &s3_dialect, err);
}

const struct backend_ops s3_backend = {
	.scheme = "s3",
	.help = "objects of Amazon S3 and what speaks like it",
	.section =
		{
			.name = "s3",
			.help = "objects of Amazon S3 and what speaks like it",
			.tables = {store_common_options, http_option_table, s3_option_table},
			.size = sizeof(struct s3_options),
			.owner = &s3_backend,
		},
	.capabilities = HTTP_CAPABILITIES | BACKEND_BATCH,
	.part_min = 5 << 20,
	.parts_max = 10000,
	.open = store_open_s3,
	HTTP_OPERATIONS,
};
