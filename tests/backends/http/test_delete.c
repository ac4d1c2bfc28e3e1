/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of DeleteObjects: the exact bytes of the request for given keys, with its Content-MD5, and
 * the results that follow from answers. Also checksums against known vectors, and the headers that
 * carry them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/http/s3/s3.h"
#include "tests/unit.h"

enum { KEYS = 3 };

static struct http_store store;
static struct http_channel channel;
static struct http_slot slot;
static struct request_key keys[KEYS];
static struct object object;
static struct request req;

static void begin(const char *prefix)
{
	static struct server server = {.host = "s3.test", .name = "http://s3.test"};

	for (unsigned i = 0; i < KEYS; i++)
		keys[i] = (struct request_key){.status = -EINPROGRESS, .again = true};
	strcpy(keys[0].key, "plain");
	strcpy(keys[1].key, "a b%+=&<>\"'\xc3\xa9\r\n");
	strcpy(keys[2].key, "last");
	memset(&store, 0, sizeof(store));
	strcpy(store.prefix, prefix);
	store.servers.list = &server;
	store.servers.count = 1;
	memset(&channel, 0, sizeof(channel));
	channel.store = &store;
	CU_ASSERT_EQUAL_FATAL(sum_open(&channel.sum), 0);
	memset(&slot, 0, sizeof(slot));
	req = (struct request){.op = REQ_DELETE,
			       .object = &object,
			       .batch.keys = keys,
			       .batch.count = KEYS,
			       .answer.attempts = 1};
	slot.channel = &channel;
	slot.req = &req;
	slot.step = STEP_DELETE_MANY;
	slot.exchange.user = &slot;
	http_request_begin(&slot.request, slot.buffer, sizeof(slot.buffer), HTTP_POST, "http",
			   "s3.test");
}

static void end(void)
{
	sum_close(&channel.sum);
}

static const char *header(const char *name)
{
	for (uint32_t i = 0; i < slot.request.header_count; i++) {
		const struct http_request_header *h = &slot.request.headers[i];

		if (text_is(h->line, h->name_bytes, name))
			return http_request_header_value(h);
	}
	return "";
}

/* The body is the same, however many of the supplied bytes are sent before the next are asked for,
 * and it has no byte more. */
static void expect_body(const char *wanted)
{
	uint64_t n = strlen(wanted), bytes;
	const void *from;
	char body[1024];

	CU_ASSERT_EQUAL_FATAL(slot.request.body_bytes, n);
	for (uint64_t step = 1; step <= n; step += 7) {
		memset(body, 0, sizeof(body));
		for (uint64_t at = 0; at < n; at += bytes) {
			CU_ASSERT_EQUAL_FATAL(
				slot.exchange.supply(&slot.exchange, at, &from, &bytes), 0);
			CU_ASSERT_FATAL(bytes > 0 && bytes <= n - at);
			bytes = bytes < step ? bytes : step;
			memcpy(body + at, from, bytes);
		}
		CU_ASSERT_STRING_EQUAL(body, wanted);
	}
	CU_ASSERT_EQUAL(slot.exchange.supply(&slot.exchange, n, &from, &bytes), -EPROTO);
}

#define NAMESPACE "http://s3.amazonaws.com/doc/2006-03-01/"

static void test_request(void)
{
	begin("pre fix/");
	CU_ASSERT_EQUAL(s3_delete_make(&slot, &slot.request), 0);
	expect_body("<Delete xmlns=\"" NAMESPACE "\">"
		    "<Object><Key>pre fix/plain</Key></Object>"
		    "<Object><Key>pre fix/a b%+=&amp;&lt;&gt;\"'\xc3\xa9&#13;&#10;</Key></Object>"
		    "<Object><Key>pre fix/last</Key></Object></Delete>");
	/* openssl dgst -md5 -binary | base64 */
	CU_ASSERT_STRING_EQUAL(header("content-md5"), "TsZcA/A5XlXfgfrso+TlUw==");
	CU_ASSERT_STRING_EQUAL(header("content-type"), "application/xml");
	CU_ASSERT_STRING_EQUAL(slot.request.queries[0].name, "delete");
	end();
}

/* Only keys without a final result are requested again; a key that cannot be requested gets its
 * result at once. */
static void test_again(void)
{
	begin("");
	keys[0].again = false;
	keys[0].status = 0;
	keys[1].key[0] = 7;
	CU_ASSERT_EQUAL(s3_delete_make(&slot, &slot.request), 0);
	expect_body("<Delete xmlns=\"" NAMESPACE "\"><Object><Key>last</Key></Object></Delete>");
	CU_ASSERT_EQUAL(keys[1].status, -EINVAL);
	end();
	begin("");
	memset(store.prefix, 'p', 1022);
	CU_ASSERT_EQUAL(s3_delete_make(&slot, &slot.request), -ENAMETOOLONG);
	CU_ASSERT_STRING_EQUAL(keys[2].why, "keys have 1024 bytes at most");
	end();
}

static void answer(const char *xml)
{
	struct xml *x;

	CU_ASSERT_EQUAL_FATAL(xml_open(&x, s3_element, &slot), 0);
	CU_ASSERT_EQUAL(xml_feed(x, xml, strlen(xml)), 0);
	CU_ASSERT_EQUAL(xml_end(x), 0);
	xml_close(x);
	s3_deleted(&slot);
}

static void test_answers(void)
{
	begin("p/");
	answer("<DeleteResult><Deleted><Key>p/last</Key></Deleted><Deleted><Key>p/plain</Key>"
	       "<DeleteMarker>true</DeleteMarker></Deleted>"
	       "<Deleted><Key>p/a b%+=&amp;&lt;&gt;&quot;'\xc3\xa9&#13;&#10;</Key></Deleted>"
	       "</DeleteResult>");
	for (unsigned i = 0; i < KEYS; i++)
		CU_ASSERT(keys[i].status == 0 && !keys[i].again);
	CU_ASSERT_EQUAL(req.answer.status, 0);
	CU_ASSERT_EQUAL(req.answer.fault, REQ_FAULT_NONE);
	CU_ASSERT_EQUAL(request_failures(&req), 0);
	end();

	/* One key is refused for good, one fails temporarily, one is missing in the answer, and one
	 * was not requested. */
	begin("p/");
	answer("<DeleteResult><Error><Key>p/plain</Key><Code>AccessDenied</Code></Error>"
	       "<Deleted><Key>p/stranger</Key></Deleted>"
	       "<Error><Code>SlowDown</Code><Key>p/last</Key></Error></DeleteResult>");
	CU_ASSERT_EQUAL(keys[0].status, -EACCES);
	CU_ASSERT_FALSE(keys[0].again);
	CU_ASSERT_EQUAL(keys[1].status, -EPROTO);
	CU_ASSERT_FALSE(keys[1].again);
	CU_ASSERT_EQUAL(keys[2].status, -EAGAIN);
	CU_ASSERT(keys[2].again);
	/* So the request is tried again for that key. */
	CU_ASSERT_EQUAL(req.answer.status, -EAGAIN);
	CU_ASSERT_EQUAL(req.answer.fault, REQ_FAULT_THROTTLE);
	CU_ASSERT(req.answer.transient);
	CU_ASSERT_EQUAL(request_failures(&req), 3);
	end();

	begin("p/");
	answer("<Error><Code>InternalError</Code></Error>");
	CU_ASSERT_STRING_EQUAL(slot.exchange.answer.code, "InternalError");
	end();
}

static void test_sums(void)
{
	static const struct {
		enum sum_kind kind;
		const char *text, *sum;
	} table[] = {
		{SUM_NONE, "123456789", ""},
		/* RFC 1321 */
		{SUM_MD5, "", "1B2M2Y8AsgTpgAmY7PhCfg=="},
		{SUM_MD5, "abc", "kAFQmDzST7DWlj99KOF/cg=="},
		/* The check value of CRC-32C in the catalogue of CRCs, e3069283, and the CRC of an
		 * empty text, from RFC 3720. */
		{SUM_CRC32C, "123456789", "4waSgw=="},
		{SUM_CRC32C, "", "AAAAAA=="},
	};
	char text[SUM_TEXT_BYTES];
	struct sum s;

	CU_ASSERT_EQUAL_FATAL(sum_open(&s), 0);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		for (size_t cut = 0; cut <= strlen(table[i].text); cut++) {
			CU_ASSERT_EQUAL(sum_begin(&s, table[i].kind), 0);
			sum_add(&s, table[i].text, cut);
			sum_add(&s, table[i].text + cut, strlen(table[i].text) - cut);
			sum_end(&s, text);
			CU_ASSERT_STRING_EQUAL(text, table[i].sum);
		}
	}
	sum_close(&s);
}

/* Checksum headers of an object's bytes for each store; the sum is kept for the end of the
 * upload. */
static void test_headers(void)
{
	static const struct dialect s3 = {.crc32c_header = "x-amz-checksum-crc32c",
					  .crc32c_before = ""};
	static const struct dialect google = {.crc32c_header = "x-goog-hash",
					      .crc32c_before = "crc32c="};
	static const struct {
		const struct dialect *dialect;
		enum sum_kind kind;
		const char *name, *value, *sum;
	} table[] = {
		{&s3, SUM_NONE, "content-md5", "", ""},
		{&s3, SUM_MD5, "content-md5",
		 "JfnnlDI7RTiF9RgfG2JNCw==", "JfnnlDI7RTiF9RgfG2JNCw=="},
		{&s3, SUM_CRC32C, "x-amz-checksum-crc32c", "4waSgw==", "4waSgw=="},
		{&google, SUM_MD5, "content-md5",
		 "JfnnlDI7RTiF9RgfG2JNCw==", "JfnnlDI7RTiF9RgfG2JNCw=="},
		{&google, SUM_CRC32C, "x-goog-hash", "crc32c=4waSgw==", "4waSgw=="},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct http_options options = {.checksum = table[i].kind};

		begin("");
		store.options = &options;
		store.dialect = table[i].dialect;
		slot.step = STEP_PUT;
		req = (struct request){
			.op = REQ_WRITE, .object = &object, .length = 9, .data = "123456789"};
		body_of_object(&slot, 9);
		CU_ASSERT_EQUAL(slot_sum_object(&slot), 0);
		CU_ASSERT_EQUAL(slot.request.header_count, table[i].kind != SUM_NONE);
		CU_ASSERT_STRING_EQUAL(header(table[i].name), table[i].value);
		CU_ASSERT_STRING_EQUAL(slot.sum_sent, table[i].sum);
		end();
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"request", test_request}, {"again", test_again},     {"answers", test_answers},
		{"sums", test_sums},       {"headers", test_headers}, CU_TEST_INFO_NULL,
	};

	return unit_main("delete", tests);
}
