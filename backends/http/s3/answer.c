/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of S3: uploads, parts, listings. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/s3/s3.h"

/* Servers do not agree on the name of a document: ListPartsResult is ListPartsResponse for some. So
 * its beginning decides, and the names below it. NULL: it is another document; "": this is the end
 * of all of it. */
static const char *s3_below(const char *path, const char *begins)
{
	const char *slash = strchr(path, '/');

	if (strncmp(path, begins, strlen(begins)) != 0)
		return NULL;
	return slash ? slash + 1 : "";
}

static int s3_upload_element(void *user, const char *path, const char *text)
{
	struct upload *u = user;
	const char *name = s3_below(path, "InitiateMultipartUpload");
	size_t n = strlen(text);

	if (!name || strcmp(name, "UploadId") != 0)
		return 0;
	if (n >= sizeof(u->id))
		return -EPROTO;
	memcpy(u->id, text, n + 1);
	return 0;
}

static int s3_read_upload(struct http_slot *s)
{
	struct upload *u = upload_of(s);
	struct xml *x;
	int rc = xml_open(&x, s3_upload_element, u);

	if (rc < 0)
		return rc;
	rc = xml_feed(x, s->text, s->text_used);
	xml_close(x);
	if (rc == 0 && u->id[0])
		return 0;
	s->req->answer.why = "the server began an upload without naming it";
	return -EPROTO;
}

/* What an answer to a completed upload says. */
struct s3_completed {
	bool whole;
	char etag[ANSWER_ETAG_BYTES];
};

static int s3_completed_element(void *user, const char *path, const char *text)
{
	const char *name = s3_below(path, "CompleteMultipartUpload");
	struct s3_completed *c = user;

	if (!name)
		return 0;
	if (!*name)
		c->whole = true;
	else if (strcmp(name, "ETag") == 0 && strlen(text) < sizeof(c->etag))
		memcpy(c->etag, text, strlen(text) + 1);
	return 0;
}

/* Only a whole document of that name says that the upload is complete. Ceph's gateway leaves its
 * ETag empty. */
static int s3_read_completed(struct http_slot *s)
{
	struct s3_completed c = {.whole = false};
	struct xml *x;
	int rc = xml_open(&x, s3_completed_element, &c);

	if (rc < 0)
		return rc;
	rc = xml_feed(x, s->text, s->text_used);
	if (rc == 0)
		rc = xml_end(x);
	xml_close(x);
	if (rc < 0 || !c.whole)
		return upload_unproven(s);
	upload_named_by(s, c.etag);
	return 0;
}

static int s3_read_put(struct http_slot *s)
{
	if (!s->exchange.answer.etag[0])
		return upload_unproven(s);
	upload_named_by(s, NULL);
	return 0;
}

/* What removes something is answered without a body, so one that has a body is of something else
 * than the store. */
static int s3_read_removed(struct http_slot *s)
{
	int rc;

	if (!s->exchange.received_bytes)
		return 0;
	rc = upload_unproven(s);
	s->req->answer.why = "the answer does not say that the store has removed what it was "
			     "asked to, though its status says success";
	return rc;
}

int s3_read(struct http_slot *s)
{
	const char *etag = s->exchange.answer.etag;
	size_t n = strlen(etag);
	struct text t;

	if (s->step == STEP_BEGIN)
		return s3_read_upload(s);
	if (s->step == STEP_COMPLETE)
		return s3_read_completed(s);
	if (s->step == STEP_PUT)
		return s3_read_put(s);
	if (s->step == STEP_ABANDON || s->step == STEP_DELETE)
		return s3_read_removed(s);
	if (s->step != STEP_PART)
		return 0;
	t = text_in(upload_of(s)->etags[upload_part_number(s) - 1], PART_ETAG_BYTES);
	text_add(&t, etag);
	if (s3_sums_parts(s)) {
		text_add_char(&t, '\n');
		text_add(&t, s->sum_sent);
	}
	if (n && !t.full)
		return 0;
	s->req->answer.why = "the server took a part without naming it";
	return -EPROTO;
}

static int s3_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "a%20b" or "a+b" to "a b". */
static void s3_decode(char *out, size_t size, const char *s)
{
	size_t n = 0;

	for (; *s && n + 1 < size; s++) {
		if (*s == '%' && s3_digit(s[1]) >= 0 && s3_digit(s[2]) >= 0) {
			out[n++] = (char)(s3_digit(s[1]) << 4 | s3_digit(s[2]));
			s += 2;
		} else {
			out[n++] = *s == '+' ? ' ' : *s;
		}
	}
	out[n] = '\0';
}

/* An upload that was begun for CRC-32C wants each part's sum back, too. */
static int s3_part_listed(struct http_slot *s)
{
	char etag[PART_ETAG_BYTES];
	struct text t = text_in(etag, sizeof(etag));

	text_add(&t, s->text);
	if (s3_sums_parts(s) && s->sum_sent[0]) {
		text_add_char(&t, '\n');
		text_add(&t, s->sum_sent);
	}
	s->sum_sent[0] = '\0';
	return t.full ? -EPROTO : upload_part_listed(s, s->element_number, s->element_size, etag);
}

/* Parts in the order of their numbers. */
static int s3_part_element(struct http_slot *s, const char *path, const char *text)
{
	path = s3_below(path, "ListParts");
	if (!path)
		return 0;
	if (!*path)
		s->parts.whole = true;
	else if (strcmp(path, "Part/PartNumber") == 0)
		s->element_number = strtoull(text, NULL, 10);
	else if (strcmp(path, "Part/Size") == 0)
		s->element_size = strtoull(text, NULL, 10);
	else if (strcmp(path, "Part/ETag") == 0)
		snprintf(s->text, sizeof(s->text), "%s", text);
	else if (strcmp(path, "Part/ChecksumCRC32C") == 0)
		snprintf(s->sum_sent, sizeof(s->sum_sent), "%s", text);
	else if (strcmp(path, "Part") == 0)
		return s3_part_listed(s);
	else if (strcmp(path, "IsTruncated") == 0 && strcmp(text, "true") == 0)
		s->parts.truncated = true;
	else if (strcmp(path, "NextPartNumberMarker") == 0)
		s->parts.next = strtoull(text, NULL, 10);
	return 0;
}

/* ListMultipartUploadsResult: uploads in the order of their keys. Ceph's gateway writes
 * NextKeyMarker plainly although it was asked to encode names. So the last upload says better where
 * the next page begins. */
static int s3_uploads_element(struct http_slot *s, const char *path, const char *text)
{
	char key[LIST_MARKER_BYTES];

	path = s3_below(path, "ListMultipartUploads");
	if (!path)
		return 0;
	if (!*path)
		listing_document(s);
	else if (strcmp(path, "Upload/Key") == 0)
		s3_decode(s->text, sizeof(s->text), text);
	else if (strcmp(path, "Upload/UploadId") == 0)
		return listing_upload_id(s, text);
	else if (strcmp(path, "Upload") == 0)
		return listing_upload(s);
	else if (strcmp(path, "IsTruncated") == 0)
		listing_more(s, strcmp(text, "true") == 0);
	else if (strcmp(path, "NextUploadIdMarker") == 0)
		return listing_upload_id_marker(s, text);
	else if (strcmp(path, "NextKeyMarker") == 0) {
		s3_decode(key, sizeof(key), text);
		return listing_upload_key_marker(s, key);
	}
	return 0;
}

/* ListBucketResult, or the name of the operation. */
static int s3_list_element(struct http_slot *s, const char *path, const char *text)
{
	const char *name = s3_below(path, "ListBucket");

	path = name ? name : s3_below(path, "ListObjects");
	if (!path)
		return 0;
	if (!*path)
		listing_document(s);
	else if (strcmp(path, "Contents/Key") == 0 || strcmp(path, "CommonPrefixes/Prefix") == 0)
		s3_decode(s->text, sizeof(s->text), text);
	else if (strcmp(path, "Contents/Size") == 0)
		s->element_size = strtoull(text, NULL, 10);
	else if (strcmp(path, "Contents") == 0)
		return listing_entry(s, s->element_size);
	else if (strcmp(path, "CommonPrefixes") == 0)
		return listing_entry(s, LIST_SIZE_UNKNOWN);
	else if (strcmp(path, "IsTruncated") == 0)
		listing_more(s, strcmp(text, "true") == 0);
	else if (strcmp(path, "NextContinuationToken") == 0)
		return listing_marker(s, text);
	return 0;
}

int s3_element(void *slot, const char *path, const char *text)
{
	struct http_slot *s = slot;

	if (s->step == STEP_DELETE_MANY)
		return s3_delete_element(s, path, text);
	if (s->step == STEP_PARTS)
		return s3_part_element(s, path, text);
	/* An error, though the status says success. */
	if (strcmp(path, "Error/Code") == 0)
		snprintf(s->exchange.answer.code, sizeof(s->exchange.answer.code), "%s", text);
	return s->req->listing->uploads ? s3_uploads_element(s, path, text)
					: s3_list_element(s, path, text);
}
