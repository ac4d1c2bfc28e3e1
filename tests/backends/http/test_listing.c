/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of listings that make no progress, with pages as a server would send them, and of messages
 * that stay valid. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/azure/azure.h"
#include "backends/http/s3/s3.h"
#include "tests/unit.h"

static struct dialect dialect;
static struct http_store store;
static struct http_channel channel = {.store = &store};
static struct http_slot slot;
static struct object object = {.key = "f/"};
static struct listing listing;
static struct request req;
static unsigned given;
static char last_name[64];

static int entry(struct request *r, const char *name, uint64_t size)
{
	(void)r;
	(void)size;
	snprintf(last_name, sizeof(last_name), "%s", name);
	given++;
	return 0;
}

static void begin(xml_element element, uint32_t part, uint32_t parts)
{
	dialect = (struct dialect){.element = element, .parts = element == s3_element};
	memset(&slot, 0, sizeof(slot));
	store.dialect = &dialect;
	strcpy(store.prefix, "p/");
	listing = (struct listing){.entry = entry, .part = part, .parts = parts};
	req = (struct request){.op = REQ_LIST, .object = &object, .listing = &listing};
	slot.channel = &channel;
	slot.req = &req;
	given = 0;
	last_name[0] = '\0';
}

/* Answers one page with this document. Returns the request's status at its end. */
static int page(const char *xml)
{
	enum http_step step;
	int rc;

	req.answer = (struct answer){.attempts = 1};
	step = listing_begin(&slot);
	while (step != STEP_OVER) {
		slot.step = step;
		if (!slot.xml)
			CU_ASSERT_EQUAL_FATAL(xml_open(&slot.xml, dialect.element, &slot), 0);
		xml_reset(slot.xml);
		slot.exchange = (struct exchange){.user = &slot, .answer.status = 200};
		rc = body_consume(&slot.exchange, xml, strlen(xml));
		rc = rc < 0 ? rc : body_xml_end(&slot);
		if (rc < 0)
			return rc;
		step = listing_next(&slot);
	}
	return req.answer.status;
}

static void end(void)
{
	xml_close(slot.xml);
	slot.xml = NULL;
}

static const char *s3_page(const char *name, const char *token)
{
	static char text[512];

	snprintf(text, sizeof(text),
		 "<ListBucketResult><NextContinuationToken>%s</NextContinuationToken>%s%s%s"
		 "<IsTruncated>%s</IsTruncated></ListBucketResult>",
		 token, name[0] ? "<Contents><Key>p/f/" : "", name,
		 name[0] ? "</Key><Size>3</Size></Contents>" : "", token[0] ? "true" : "false");
	return text;
}

/* A cycle of pages, of any length, is detected; pages that only look alike are not taken for a
 * cycle. */
static void test_cycles(void)
{
	static const unsigned rounds[] = {1, 2, 3, 7, 64, 100};

	for (size_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
		unsigned pages = 0;
		char token[16];
		int rc = 0;

		begin(s3_element, 0, 0);
		while (rc == 0 && pages < 1000) {
			snprintf(token, sizeof(token), "t%u", pages % rounds[i]);
			rc = page(s3_page("x", token));
			pages++;
		}
		CU_ASSERT_EQUAL(rc, -ELOOP);
		CU_ASSERT_STRING_EQUAL(request_text(&req),
				       "the listing does not get on: the server names a page for "
				       "the second time");
		CU_ASSERT_EQUAL(req.answer.fault, REQ_FAULT_OTHER);
		CU_ASSERT_FALSE(req.answer.transient);
		CU_ASSERT(pages > rounds[i] && pages <= 3 * rounds[i] + 2);
		end();
	}
	begin(s3_element, 0, 0);
	for (unsigned i = 0; i < 5000; i++) {
		char token[16];

		snprintf(token, sizeof(token), "t%u", i);
		CU_ASSERT_EQUAL(page(s3_page("x", token)), 0);
		CU_ASSERT(listing.more);
	}
	CU_ASSERT_EQUAL(page(s3_page("x", "")), 0);
	CU_ASSERT_FALSE(listing.more);
	CU_ASSERT_EQUAL(given, 5001);
	end();
}

static void test_nothing_comes(void)
{
	unsigned pages = 0;
	char token[16];

	/* Fewer than 100 empty pages in a row are accepted, as long as another page follows. */
	begin(s3_element, 0, 0);
	for (unsigned i = 0; i < 500; i++) {
		snprintf(token, sizeof(token), "t%u", i);
		CU_ASSERT_EQUAL(page(s3_page(i % 50 ? "" : "x", token)), 0);
	}
	end();
	begin(azure_element, 0, 0);
	do {
		char text[256];

		snprintf(text, sizeof(text),
			 "<EnumerationResults><Blobs/><NextMarker>m%u</NextMarker>"
			 "</EnumerationResults>",
			 pages++);

		if (page(text) < 0)
			break;
	} while (pages < 1000);
	CU_ASSERT_EQUAL(pages, 100);
	CU_ASSERT_EQUAL(req.answer.status, -ELOOP);
	CU_ASSERT_STRING_EQUAL(request_text(&req),
			       "the listing does not get on: 100 pages in a row brought nothing");
	end();
}

static void test_no_listing(void)
{
	static const struct {
		const char *document, *sentence;
	} table[] = {
		{"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
		 "the listing says that more follows, but not where"},
		{"<html><body/></html>", "the server's answer is not a listing"},
		{"rubbish", "the server's answer is not the XML that was asked for: it has no XML "
			    "at all (line 1)"},
		{"", "the server's answer is not the XML that was asked for: it has nothing at all "
		     "(line 1)"},
		{"<ListBucketResult>\n<Contents>\n<Key>p/f/a</Key>",
		 "the server's answer is not the XML that was asked for: it has an end in the "
		 "middle (line 3)"},
		{"<!DOCTYPE a [<!ENTITY e \"x\">]><ListBucketResult/>",
		 "the server's answer is not the XML that was asked for: it has a document type "
		 "(line 1)"},
		{"<ListBucketResult><A></ListBucketResult>",
		 "the server's answer is not the XML that was asked for: it has an element that is "
		 "closed by the end of another (line 1)"},
		{"<ListBucketResult/><more/>",
		 "the server's answer is not the XML that was asked for: it has something behind "
		 "its end (line 1)"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		begin(s3_element, 0, 0);
		CU_ASSERT(page(table[i].document) < 0);
		CU_ASSERT_STRING_EQUAL(request_text(&req), table[i].sentence);
		end();
	}
	/* An error document is an error even where the HTTP status says success. */
	begin(s3_element, 0, 0);
	page("<Error><Code>SlowDown</Code></Error>");
	CU_ASSERT_STRING_EQUAL(slot.exchange.answer.code, "SlowDown");
	end();
}

/* An attempt that fails after the page has named the next one does not advance the listing. */
static void test_broken_page(void)
{
	static const char half[] =
		"<ListBucketResult><NextContinuationToken>t2</NextContinuationToken>"
		"<IsTruncated>true</IsTruncated><Contents><Key>p/f/a</Key>"
		"<Size>1</Size></Contents><Cont";

	begin(s3_element, 0, 0);
	CU_ASSERT_EQUAL(page(s3_page("0", "t1")), 0);
	CU_ASSERT(page(half) < 0);
	CU_ASSERT_STRING_EQUAL(listing.marker, "=t1");
	CU_ASSERT_EQUAL(given, 2);
	end();
}

static void test_parts_refused(void)
{
	begin(azure_element, 0, 2);
	CU_ASSERT_EQUAL(page("<EnumerationResults/>"), -ENOTSUP);
	CU_ASSERT_STRING_EQUAL(request_text(&req), "the store does not list parts of a folder");
	end();
	begin(s3_element, 2, 2);
	CU_ASSERT_EQUAL(page(s3_page("", "")), -EINVAL);
	end();
	/* A part of an empty folder is empty and needs no page. */
	begin(s3_element, 1, 2);
	CU_ASSERT_EQUAL(page(s3_page("", "")), 0);
	CU_ASSERT_EQUAL(given, 0);
	CU_ASSERT_FALSE(listing.more);
	end();
}

#define UPLOAD(key, id) "<Upload><Key>" key "</Key><UploadId>" id "</UploadId></Upload>"
#define UPLOADS(text)   "<ListMultipartUploadsResult>" text "</ListMultipartUploadsResult>"

static const char *uploads_page(const char *key, const char *id)
{
	static char text[512];

	snprintf(text, sizeof(text),
		 UPLOADS("<NextKeyMarker>p/f/a+b%%zz</NextKeyMarker>"
			 "<NextUploadIdMarker>no</NextUploadIdMarker>" UPLOAD(
				 "%s", "%s") "<IsTruncated>true</IsTruncated>"),
		 key, id);
	return text;
}

/* Notes the id of the last upload behind its name. */
static int upload_entry(struct request *r, const char *name, uint64_t size)
{
	CU_ASSERT_EQUAL(size, LIST_SIZE_UNKNOWN);
	snprintf(last_name, sizeof(last_name), "%.20s %.20s", name, r->listing->upload);
	given++;
	return 0;
}

static void begin_uploads(void)
{
	begin(s3_element, 0, 0);
	dialect.begins = true;
	listing.entry = upload_entry;
	listing.uploads = true;
}

/* The next page of uploads follows a key and an id, so an object with many uploads is no cycle.
 * What the server lists beside the folder is left out: it must not be dropped. */
static void test_uploads(void)
{
	char after[SPLIT_NAME_BYTES];
	int rc = 0;

	begin_uploads();
	CU_ASSERT_EQUAL(
		page(UPLOADS("<IsTruncated>true</IsTruncated>" UPLOAD("p/f/g/a%20b", "1")
				     UPLOAD("q/f/other", "2") UPLOAD("p/fo", "3") UPLOAD(
					     "p/f/g/a+b",
					     "4") "<NextKeyMarker>p/f/g/a+b</NextKeyMarker>"
						  "<NextUploadIdMarker>4</NextUploadIdMarker>")),
		0);
	CU_ASSERT_EQUAL(given, 2);
	CU_ASSERT_STRING_EQUAL(last_name, "g/a b 4");
	CU_ASSERT_TRUE(listing.more);
	slot.step = STEP_LIST;
	CU_ASSERT_STRING_EQUAL(listing_from(&slot, after).marker, "p/f/g/a b\n4");
	/* A page without an upload. */
	CU_ASSERT_EQUAL(
		page(UPLOADS(
			"<IsTruncated>true</IsTruncated><NextUploadIdMarker>5</NextUploadIdMarker>"
			"<NextKeyMarker>p/f/g/c%2Bd</NextKeyMarker>")),
		0);
	CU_ASSERT_STRING_EQUAL(listing_from(&slot, after).marker, "p/f/g/c+d\n5");
	for (unsigned i = 0; i < 500; i++) {
		char id[16];

		snprintf(id, sizeof(id), "t%u", i);
		CU_ASSERT_EQUAL(page(uploads_page("p/f/x", id)), 0);
	}
	for (unsigned i = 0; i < 1000 && rc == 0; i++)
		rc = page(uploads_page("p/f/x", "t"));
	CU_ASSERT_EQUAL(rc, -ELOOP);
	end();
}

static void test_no_uploads(void)
{
	static const struct {
		const char *document;
		int status;
	} table[] = {
		{UPLOADS(""), 0},
		{"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>", -EPROTO},
		{UPLOADS("<Upload><Key>p/f/a</Key></Upload>"), -EPROTO},
		{UPLOADS("<Upload><UploadId>1</UploadId></Upload>"), -EPROTO},
		{UPLOADS(UPLOAD("p/f/a", "1") "<Upload><Key>p/f/b</Key></Upload>"), -EPROTO},
		{UPLOADS("<IsTruncated>true</IsTruncated>"), -ELOOP},
	};
	static char longest[2 * SHARED_ID_BYTES], id[SHARED_ID_BYTES + 1];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		begin_uploads();
		CU_ASSERT_EQUAL(page(table[i].document), table[i].status);
		CU_ASSERT(given <= 1);
		end();
	}
	memset(id, 'i', SHARED_ID_BYTES);
	for (int bytes = SHARED_ID_BYTES; bytes >= SHARED_ID_BYTES - 1; bytes--) {
		snprintf(longest, sizeof(longest), UPLOADS(UPLOAD("p/f/a", "%.*s")), bytes, id);
		begin_uploads();
		CU_ASSERT_EQUAL(page(longest), bytes < SHARED_ID_BYTES ? 0 : -EPROTO);
		end();
	}
}

static void test_sentences(void)
{
	static struct sentences s;
	const char *one, *two;

	CU_ASSERT_EQUAL_FATAL(sentences_init(&s), 0);
	one = sentence_keep(&s, "instead", "no connection to %s", "a");
	two = sentence_keep(&s, "instead", "no connection to %s", "b");
	CU_ASSERT_STRING_EQUAL(one, "no connection to a");
	CU_ASSERT_STRING_EQUAL(two, "no connection to b");
	CU_ASSERT_PTR_EQUAL(sentence_keep(&s, "instead", "no connection to %s", "a"), one);
	for (int i = 2; i < SENTENCES_MAX; i++)
		CU_ASSERT_STRING_NOT_EQUAL(sentence_keep(&s, "instead", "%d", i), "instead");
	CU_ASSERT_STRING_EQUAL(sentence_keep(&s, "instead", "one too many"), "instead");
	CU_ASSERT_PTR_EQUAL(sentence_keep(&s, "instead", "no connection to %s", "b"), two);
	sentences_free(&s);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"cycles", test_cycles},
		{"nothing comes", test_nothing_comes},
		{"no listing", test_no_listing},
		{"broken page", test_broken_page},
		{"parts refused", test_parts_refused},
		{"uploads", test_uploads},
		{"no uploads", test_no_uploads},
		{"sentences", test_sentences},
		CU_TEST_INFO_NULL,
	};

	return unit_main("listing", tests);
}
