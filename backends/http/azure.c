/* az://account/container/prefix: Azure's block blobs. Writes in parts are blocks, whose names follow from
 * their numbers and from what the upload is called, so that none is taken for one that an earlier upload
 * left; blocks that are never committed show nowhere, and the service drops them after a week. */
#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/http.h"
#include "backends/stores.h"

enum {
	ACCOUNT_KEY_BYTES = 128,
	BLOCK_DIGITS = 8,
	BLOCK_RAW_BYTES = UPLOAD_NAME_BYTES - 1 + BLOCK_DIGITS,
	BLOCK_NAME_BYTES = (BLOCK_RAW_BYTES + 2) / 3 * 4 + 1,
	RANGE_MD5_MAX = 4 << 20
};

static const char version[] = "2021-12-02";

struct azure_options {
	struct http_options http; /* must come first */
	bool anonymous;
};

static const struct option azure_option_table[] = {
	OPT_BOOL("anonymous", struct azure_options, anonymous, .def = false,
		 .help = "sends no credentials, for public containers"),
	OPT_END,
};

/* "account/container/prefix" */
static int split_root(struct store *store, struct http_store *http, struct err *err)
{
	char *slash = strchr(store->root, '/');
	size_t n = slash ? (size_t)(slash - store->root) : 0;

	if (!slash || n == 0 || n >= sizeof(http->account))
		return err_set(
			err, -EINVAL,
			"names no account and container; write az://account/container/prefix");
	memcpy(http->account, store->root, n);
	http->account[n] = '\0';
	memmove(store->root, slash + 1, strlen(slash + 1) + 1);
	return http_split_root(store, "account/container", http, err);
}

static int azure_open(struct store *store, struct http_store *http, struct err *err)
{
	const struct azure_options *o = store->options;
	char endpoint[URI_BYTES] = "", where[512];
	const char *text = endpoint;
	int rc = split_root(store, http, err);

	if (rc == 0 && !o->anonymous)
		rc = credentials_azure(&http->credentials, http->account, endpoint,
				       sizeof(endpoint), err);
	if (rc < 0)
		return rc;
	snprintf(where, sizeof(where), "https://%s.blob.core.windows.net", http->account);
	if (o->http.endpoints.count && o->http.endpoints.items[0][0])
		return servers_parse(&http->servers, (const char *const *)o->http.endpoints.items,
				     o->http.endpoints.count, "endpoints", err);
	text = endpoint[0] ? endpoint : where;
	return servers_parse(&http->servers, &text, 1, "the account's endpoint", err);
}

static void path(struct slot *s, const char *key)
{
	const struct http_store *http = s->channel->store;
	const char *const pieces[] = {
		slot_server(s)->base, "/", http->bucket, key ? "/" : "", key ? http->prefix : "",
		key ? key : "",       NULL};

	http_request_path(&s->request, pieces);
}

/* Of one length, as they must be. */
static void block_name(char out[BLOCK_NAME_BYTES], const struct upload *u, uint64_t number)
{
	struct text t = text_in(out, BLOCK_NAME_BYTES);
	uint8_t raw[BLOCK_RAW_BYTES];

	memcpy(raw, u->id, UPLOAD_NAME_BYTES - 1);
	for (int i = BLOCK_RAW_BYTES - 1; i >= UPLOAD_NAME_BYTES - 1; i--) {
		raw[i] = (uint8_t)('0' + number % 10);
		number /= 10;
	}
	text_add_base64(&t, raw, sizeof(raw));
}

/* 0: a block of another upload. */
static uint64_t block_number(const struct upload *u, const char *name)
{
	uint8_t raw[BLOCK_RAW_BYTES];
	uint64_t number = 0;

	if (text_from_base64(name, raw, sizeof(raw)) != BLOCK_RAW_BYTES ||
	    memcmp(raw, u->id, UPLOAD_NAME_BYTES - 1) != 0)
		return 0;
	for (int i = UPLOAD_NAME_BYTES - 1; i < BLOCK_RAW_BYTES; i++) {
		if (raw[i] < '0' || raw[i] > '9')
			return 0;
		number = number * 10 + (raw[i] - '0');
	}
	return number;
}

static const char *block_piece(const struct slot *s, uint64_t piece, char buffer[PIECE_BYTES])
{
	struct text t = text_in(buffer, PIECE_BYTES);
	uint64_t parts = slot_parts(s);
	char name[BLOCK_NAME_BYTES];

	if (piece == 0)
		return "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>";
	if (piece == parts + 1)
		return "</BlockList>";
	if (piece > parts + 1)
		return NULL;
	block_name(name, slot_upload(s), piece);
	text_add(&t, "<Latest>");
	text_add(&t, name);
	text_add(&t, "</Latest>");
	return buffer;
}

static void make_list(struct slot *s)
{
	struct http_request *r = &s->request;
	const struct request *req = s->req;
	char prefix[URI_BYTES + OBJECT_KEY_BYTES];
	struct text t = text_in(prefix, sizeof(prefix));

	text_add(&t, s->channel->store->prefix);
	text_add(&t, req->object->key);
	http_request_query(r, "restype", "container");
	http_request_query(r, "comp", "list");
	http_request_query(r, "delimiter", "/");
	http_request_query_u64(r, "maxresults", req->length ? req->length : LIST_PAGE_ENTRIES);
	http_request_query(r, "prefix", prefix);
	if (req->listing->marker[0])
		http_request_query(r, "marker", req->listing->marker);
}

/* The service makes the MD5 of a range, when asked to and not too long; that of a whole blob it tells where
 * it has one. */
static int make_get(struct slot *s)
{
	const struct request *req = s->req;
	bool whole = slot_reads_all(s), summed = s->channel->store->options->checksum == SUM_MD5;
	uint64_t left = req->length - req->answer.done_bytes;

	if (!whole)
		http_request_range(&s->request, "range", req->offset + req->answer.done_bytes,
				   left);
	if (!summed || (!whole && left > RANGE_MD5_MAX))
		return 0;
	if (!whole)
		http_request_header(&s->request, "x-ms-range-get-content-md5", "true");
	return slot_sum_received(s);
}

static int make_step(struct slot *s)
{
	struct http_request *r = &s->request;
	const struct request *req = s->req;
	char name[BLOCK_NAME_BYTES];

	switch (s->step) {
	case STEP_GET:
		return make_get(s);
	case STEP_EXPLAIN:
		http_request_range(r, "range", 0, 1);
		break;
	case STEP_PUT:
		http_request_header(r, "x-ms-blob-type", "BlockBlob");
		body_of_object(s, req->op == REQ_WRITE ? req->length : 0);
		return slot_sum_object(s);
	case STEP_PART:
		block_name(name, slot_upload(s), slot_part(s));
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
		body_of_pieces(s, block_piece);
		break;
	case STEP_LIST:
		make_list(s);
		break;
	default:
		break;
	}
	return 0;
}

static int sign(struct slot *s)
{
	struct http_channel *ch = s->channel;
	const struct credentials *c = &ch->credentials.c;
	char text[CREDENTIAL_TOKEN_BYTES + 8], date[DATE_HTTP_BYTES];
	struct text t = text_in(text, sizeof(text));
	uint8_t key[ACCOUNT_KEY_BYTES];
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

static int azure_make(struct slot *s)
{
	static const enum http_method methods[] = {
		[STEP_HEAD] = HTTP_HEAD, [STEP_GET] = HTTP_GET,      [STEP_PUT] = HTTP_PUT,
		[STEP_PART] = HTTP_PUT,  [STEP_COMPLETE] = HTTP_PUT, [STEP_DELETE] = HTTP_DELETE,
		[STEP_LIST] = HTTP_GET,  [STEP_EXPLAIN] = HTTP_GET,  [STEP_PARTS] = HTTP_GET,
	};
	const struct http_channel *ch = s->channel;
	bool shared = ch->store->credentials.kind == CREDENTIAL_SAS;
	int rc;

	slot_target(s, methods[s->step]);
	path(s, s->step == STEP_LIST ? NULL : s->req->object->key);
	http_request_header(&s->request, "x-ms-version", version);
	rc = make_step(s);
	if (rc == 0)
		rc = sign(s);
	if (rc < 0)
		return rc;
	return http_request_finish(&s->request, shared ? ch->credentials.c.token : NULL,
				   &s->exchange);
}

/* BlockList: all of them, in no order that is promised. */
static int block_element(struct slot *s, const char *path, const char *text)
{
	if (strncmp(path, "BlockList/UncommittedBlocks/", 28) != 0)
		return 0;
	path += 28;
	if (strcmp(path, "Block/Name") == 0)
		s->number = block_number(slot_upload(s), text);
	else if (strcmp(path, "Block/Size") == 0)
		s->entry_size = strtoull(text, NULL, 10);
	else if (strcmp(path, "Block") == 0)
		return upload_met(s, s->number, s->entry_size, NULL);
	return 0;
}

int azure_element(void *slot, const char *path, const char *text)
{
	struct slot *s = slot;
	struct listing *l = s->req->listing;
	size_t n = strlen(text);

	if (s->step == STEP_PARTS)
		return block_element(s, path, text);
	if (strncmp(path, "EnumerationResults/", 19) != 0)
		return 0;
	path += 19;
	if (strcmp(path, "Blobs/Blob/Name") == 0 || strcmp(path, "Blobs/BlobPrefix/Name") == 0)
		memcpy(s->small, text, n + 1);
	else if (strcmp(path, "Blobs/Blob/Properties/Content-Length") == 0)
		s->entry_size = strtoull(text, NULL, 10);
	else if (strcmp(path, "Blobs/Blob") == 0)
		return slot_list_entry(s, s->entry_size);
	else if (strcmp(path, "Blobs/BlobPrefix") == 0)
		return slot_list_entry(s, LIST_SIZE_UNKNOWN);
	else if (strcmp(path, "NextMarker") == 0 && n >= sizeof(l->marker))
		return -EPROTO;
	else if (strcmp(path, "NextMarker") == 0) {
		memcpy(l->marker, text, n + 1);
		l->more = n > 0;
	}
	return 0;
}

/* A signature that was handed out says its end itself. Of an object that never was, without a block, there
 * is no list of them. */
static void azure_explain(struct slot *s)
{
	struct http_channel *ch = s->channel;
	int64_t ends;

	if (s->step == STEP_PARTS && s->req->answer.status == -ENOENT)
		upload_lacks(s);
	if (ch->store->credentials.kind != CREDENTIAL_SAS || s->exchange.answer.status != 403)
		return;
	ends = credentials_sas_end(ch->credentials.c.token);
	s->req->answer.why =
		ends > 0 && ends < http_now(ch->store)
			? "the shared access signature has expired"
			: "the shared access signature does not allow this, or is not the "
			  "account's";
}

static const struct dialect azure_dialect = {
	.name = "Azure Blob",
	.open = azure_open,
	.make = azure_make,
	.element = azure_element,
	.explain = azure_explain,
};

static int store_open_azure(struct store *store, struct err *err)
{
	return http_open(store, &azure_dialect, err);
}

const struct backend_ops azure_backend = {
	.scheme = "az",
	.help = "Azure's block blobs",
	.section =
		{
			.name = "az",
			.help = "Azure's block blobs",
			.tables = {store_common_options, http_option_table, azure_option_table},
			.size = sizeof(struct azure_options),
			.owner = &azure_backend,
		},
	.capabilities = HTTP_CAPABILITIES,
	.parts_max = 50000,
	.open = store_open_azure,
	HTTP_OPERATIONS,
};
