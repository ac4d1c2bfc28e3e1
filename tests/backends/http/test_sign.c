/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of signatures: the examples in Amazon's S3 documentation ("Authenticating Requests", with
 * the keys of that documentation), signatures for Azure computed by another program, and the
 * encodings that signatures need. */
#include <string.h>

#include "backends/http/auth/sign.h"
#include "tests/unit.h"

#define EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define MAY_24_2013  INT64_C(1369353600)

static const struct credentials amazon = {
	.key = "AKIAIOSFODNN7EXAMPLE",
	.secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
};
static char buffer[REQUEST_BYTES];

static void ask(struct http_request *r, enum http_method method, const char *path)
{
	const char *const pieces[] = {path, NULL};

	http_request_begin(r, buffer, sizeof(buffer), method, "https",
			   "examplebucket.s3.amazonaws.com");
	http_request_path(r, pieces);
}

static const char *header(const struct http_request *r, const char *name)
{
	for (uint32_t i = 0; i < r->header_count; i++) {
		if (text_is(r->headers[i].line, r->headers[i].name_bytes, name))
			return http_request_header_value(&r->headers[i]);
	}
	return "";
}

static void check_v4(struct http_request *r, const char *payload, const char *names,
		     const char *signature)
{
	struct sign_v4 s;
	char wanted[1024];
	struct text t = text_in(wanted, sizeof(wanted));

	CU_ASSERT_EQUAL_FATAL(sign_v4_open(&s, NULL), 0);
	sign_v4(&s, r, &amazon, 1, "us-east-1", payload, MAY_24_2013);
	sign_v4_close(&s);
	text_add(&t, "AWS4-HMAC-SHA256 "
		     "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
		     "SignedHeaders=");
	text_add(&t, names);
	text_add(&t, ", Signature=");
	text_add(&t, signature);
	CU_ASSERT_STRING_EQUAL(header(r, "authorization"), wanted);
	CU_ASSERT_FALSE(r->text.full);
}

static void test_get_object(void)
{
	struct http_request r;

	ask(&r, HTTP_GET, "/test.txt");
	http_request_range(&r, "range", 0, 10);
	check_v4(&r, EMPTY_SHA256, "host;range;x-amz-content-sha256;x-amz-date",
		 "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

static void test_put_object(void)
{
	/* SHA-256 of "Welcome to Amazon S3." */
	static const char hash[] =
		"44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
	struct http_request r;

	ask(&r, HTTP_PUT, "/test$file.text");
	CU_ASSERT_STRING_EQUAL(r.path, "/test%24file.text");
	http_request_header(&r, "x-amz-storage-class", "REDUCED_REDUNDANCY");
	http_request_header(&r, "date", "Fri, 24 May 2013 00:00:00 GMT");
	check_v4(&r, hash, "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
		 "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

static void test_queries(void)
{
	struct http_request r;

	ask(&r, HTTP_GET, "/");
	http_request_query(&r, "lifecycle", "");
	check_v4(&r, EMPTY_SHA256, "host;x-amz-content-sha256;x-amz-date",
		 "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
	ask(&r, HTTP_GET, "/");
	http_request_query(&r, "prefix", "J"); /* the signer sorts the queries */
	http_request_query(&r, "max-keys", "2");
	check_v4(&r, EMPTY_SHA256, "host;x-amz-content-sha256;x-amz-date",
		 "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

static void test_presigned(void)
{
	struct sign_v4 s;
	struct exchange x = {0};
	struct http_request r;

	ask(&r, HTTP_GET, "/test.txt");
	CU_ASSERT_EQUAL_FATAL(sign_v4_open(&s, NULL), 0);
	sign_v4_query(&s, &r, &amazon, 1, "us-east-1", 86400, MAY_24_2013);
	sign_v4_close(&s);
	CU_ASSERT_EQUAL(http_request_finish(&r, NULL, &x), 0);
	CU_ASSERT_STRING_EQUAL(
		x.url,
		"https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
		"&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
		"&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400"
		"&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
		"&X-Amz-SignedHeaders=host");
}

/* The cached signing key is made again on another day, for another region and for other
 * credentials. */
static void test_signing_key_is_cached(void)
{
	struct sign_v4 kept, fresh;
	struct credentials other = amazon;
	struct http_request r, again;
	char first[2048];

	strcpy(other.secret, "another");
	CU_ASSERT_EQUAL_FATAL(sign_v4_open(&kept, NULL), 0);
	for (int i = 0; i < 3; i++) {
		const struct credentials *c = i == 2 ? &other : &amazon;
		int64_t now = MAY_24_2013 + (i >= 1) * 86400;

		CU_ASSERT_EQUAL_FATAL(sign_v4_open(&fresh, NULL), 0);
		ask(&r, HTTP_GET, "/k");
		sign_v4(&kept, &r, c, (uint64_t)(i == 2) + 1, "eu-west-1", EMPTY_SHA256, now);
		strcpy(first, header(&r, "authorization"));
		ask(&again, HTTP_GET, "/k");
		sign_v4(&fresh, &again, c, 1, "eu-west-1", EMPTY_SHA256, now);
		CU_ASSERT_STRING_EQUAL(header(&again, "authorization"), first);
		sign_v4_close(&fresh);
	}
	sign_v4_close(&kept);
}

/* HMAC-SHA256 with the key of Azurite's documentation, over the text that Azure documents, computed
 * with Python's hmac. */
static void test_shared_key(void)
{
	static const char key_text[] =
		"Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/"
		"K1SZFPTOtr/KBHBeksoGMGw==";
	const char *const pieces[] = {"/devstoreaccount1/ctr/", "a b", NULL};
	uint8_t key[64];
	struct http_request r;

	CU_ASSERT_EQUAL_FATAL(text_from_base64(key_text, key, sizeof(key)), 64);
	http_request_begin(&r, buffer, sizeof(buffer), HTTP_PUT, "http", "127.0.0.1:10000");
	http_request_path(&r, pieces);
	http_request_query(&r, "comp", "block");
	http_request_query(&r, "blockid", "MDE=");
	http_request_header(&r, "x-ms-version", "2021-12-02");
	http_request_header(&r, "content-type", "application/octet-stream");
	r.body_bytes = 11;
	sign_shared_key(&r, "devstoreaccount1", key, sizeof(key), MAY_24_2013);
	CU_ASSERT_STRING_EQUAL(header(&r, "x-ms-date"), "Fri, 24 May 2013 00:00:00 GMT");
	CU_ASSERT_STRING_EQUAL(
		header(&r, "authorization"),
		"SharedKey devstoreaccount1:g4keMt2+DXyO/mJ+0SCP6TGu/8RwKqrp3stS6tSk9d0=");
}

static void test_text(void)
{
	char small[8], out[256];
	uint8_t bytes[16];
	struct text t = text_in(small, sizeof(small));

	text_add(&t, "1234567");
	CU_ASSERT_FALSE(t.full);
	text_add(&t, "8");
	CU_ASSERT_TRUE(t.full);
	CU_ASSERT_STRING_EQUAL(small, "1234567");
	t = text_in(out, sizeof(out));
	text_add_encoded(&t, "a/b c+d&\xc3\xa9=~%.-_*", true);
	CU_ASSERT_STRING_EQUAL(out, "a/b%20c%2Bd%26%C3%A9%3D~%25.-_%2A");
	t = text_in(out, sizeof(out));
	text_add_encoded(&t, "a/b", false);
	CU_ASSERT_STRING_EQUAL(out, "a%2Fb");
	t = text_in(out, sizeof(out));
	text_add_base64(&t, (const uint8_t *)"hello", 5);
	CU_ASSERT_STRING_EQUAL(out, "aGVsbG8=");
	CU_ASSERT_EQUAL(text_from_base64("aGVsbG8=", bytes, sizeof(bytes)), 5);
	CU_ASSERT_EQUAL(memcmp(bytes, "hello", 5), 0);
	CU_ASSERT_EQUAL(text_from_base64("aGVsbG8=", bytes, 4), -1);
	CU_ASSERT_EQUAL(text_from_base64("a b", bytes, sizeof(bytes)), -1);
	t = text_in(out, sizeof(out));
	text_add_u64(&t, UINT64_MAX);
	text_add_u64(&t, 0);
	CU_ASSERT_STRING_EQUAL(out, "184467440737095516150");
}

static void test_dates(void)
{
	char basic[DATE_BASIC_BYTES], http[DATE_HTTP_BYTES];

	date_basic(basic, 1709210096); /* a leap day */
	date_http(http, 1709210096);
	CU_ASSERT_STRING_EQUAL(basic, "20240229T123456Z");
	CU_ASSERT_STRING_EQUAL(http, "Thu, 29 Feb 2024 12:34:56 GMT");
	CU_ASSERT_EQUAL(date_parse(http), 1709210096);
	CU_ASSERT_EQUAL(date_parse("2024-02-29T12:34:56Z"), 1709210096);
	CU_ASSERT_EQUAL(date_parse("2024-02-29T12:34:56.123Z"), 1709210096);
	CU_ASSERT_EQUAL(date_parse("tomorrow"), -1);
	CU_ASSERT_EQUAL(date_parse("Thu, 29 Foo 2024 12:34:56 GMT"), -1);
}

/* A request that does not fit into the buffer is refused and never truncated. */
static void test_too_long(void)
{
	struct exchange x = {0};
	struct http_request r;
	char small[64];

	http_request_begin(&r, small, sizeof(small), HTTP_GET, "http", "host");
	http_request_query(&r, "prefix", "0123456789012345678901234567890123456789");
	CU_ASSERT(http_request_finish(&r, NULL, &x) < 0);
	http_request_begin(&r, small, sizeof(small), HTTP_GET, "http", "host");
	CU_ASSERT_EQUAL(http_request_finish(&r, "sv=1&sig=a%2F", &x), 0);
	CU_ASSERT_STRING_EQUAL(x.url, "http://host/?sv=1&sig=a%2F");
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"get object", test_get_object},
		{"put object", test_put_object},
		{"queries", test_queries},
		{"presigned", test_presigned},
		{"the signing key is cached", test_signing_key_is_cached},
		{"shared key", test_shared_key},
		{"text", test_text},
		{"dates", test_dates},
		{"too long", test_too_long},
		CU_TEST_INFO_NULL,
	};

	return unit_main("sign", tests);
}
