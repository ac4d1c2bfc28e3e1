/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of parsers for input from servers, files and users: heads of answers, XML, endpoints,
 * credentials. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/http/auth/credentials.h"
#include "backends/http/server.h"
#include "backends/http/wire/answer.h"
#include "backends/http/wire/xml.h"
#include "tests/unit.h"

static void line(struct http_answer *a, const char *text)
{
	answer_line(a, text, strlen(text));
}

static void test_answer(void)
{
	struct http_answer a;

	answer_clear(&a);
	line(&a, "HTTP/1.1 100 Continue\r\n");
	line(&a, "ETag: \"old\"\r\n");
	line(&a, "HTTP/1.1 206 Partial Content\r\n");
	CU_ASSERT_STRING_EQUAL(a.etag, "");
	line(&a, "content-LENGTH:  100 \r\n");
	line(&a, "Content-Range: bytes 1000-1099/5000\r\n");
	line(&a, "ETag: \"abc-3\"\r\n");
	line(&a, "Date: Thu, 29 Feb 2024 12:34:56 GMT\r\n");
	line(&a, "Retry-After: 7\r\n");
	line(&a, "x-ms-error-code: ServerBusy\r\n");
	line(&a, "no colon");
	line(&a, "\r\n");
	CU_ASSERT_EQUAL(a.status, 206);
	CU_ASSERT_EQUAL(a.length, 100);
	CU_ASSERT_EQUAL(a.range_first, 1000);
	CU_ASSERT_EQUAL(a.range_total, 5000);
	CU_ASSERT_STRING_EQUAL(a.etag, "\"abc-3\"");
	CU_ASSERT_STRING_EQUAL(a.code, "ServerBusy");
	CU_ASSERT_EQUAL(answer_date(&a), 1709210096);
	CU_ASSERT_EQUAL(answer_retry_after(&a), 7);
	line(&a, "Retry-After: Thu, 29 Feb 2024 12:35:26 GMT\r\n");
	CU_ASSERT_EQUAL(answer_retry_after(&a), 30);
	line(&a, "Retry-After: soon\r\n");
	CU_ASSERT_EQUAL(answer_retry_after(&a), 0);
	line(&a, "Content-MD5: kAFQmDzST7DWlj99KOF/cg==");
	line(&a, "x-amz-checksum-crc32c: ROC8NA==-2");
	CU_ASSERT_STRING_EQUAL(a.md5, "kAFQmDzST7DWlj99KOF/cg==");
	CU_ASSERT_STRING_EQUAL(a.crc32c, "ROC8NA==-2");
	line(&a, "X-Goog-Hash: crc32c=4waSgw==, md5=1B2M2Y8AsgTpgAmY7PhCfg==");
	CU_ASSERT_STRING_EQUAL(a.crc32c, "4waSgw==");
	CU_ASSERT_STRING_EQUAL(a.md5, "1B2M2Y8AsgTpgAmY7PhCfg==");
	line(&a, "x-goog-hash: crc32c=AAAAAA==,other,crc32c=0123456789012345678901234567890123");
	CU_ASSERT_STRING_EQUAL(a.crc32c, "AAAAAA==");
	line(&a, "HTTP/1.1 416 Range Not Satisfiable");
	CU_ASSERT_STRING_EQUAL(a.crc32c, "");
	line(&a, "Content-Range: bytes */42");
	CU_ASSERT_EQUAL(a.status, 416);
	CU_ASSERT_EQUAL(a.range_first, ANSWER_UNKNOWN);
	CU_ASSERT_EQUAL(a.range_total, 42);
	line(&a, "Content-Length: 99999999999999999999999");
	CU_ASSERT_EQUAL(a.length, ANSWER_UNKNOWN);
	line(&a, "HTTP/1.1 xyz");
	CU_ASSERT_EQUAL(a.status, 0);
}

struct leaves {
	char text[512];
	int stop;
};

static int element(void *user, const char *path, const char *text)
{
	struct leaves *l = user;
	size_t used = strlen(l->text);

	snprintf(l->text + used, sizeof(l->text) - used, "%s=%s;", path, text);
	return l->stop && --l->stop == 0 ? -ECANCELED : 0;
}

static void test_xml(void)
{
	static const char good[] =
		"<?xml version=\"1.0\"?><a xmlns=\"x\"><b>1 &amp; 2</b><c><d> \xc3\xa9"
		"</d></c></a>";
	static const char *const bad[] = {
		"no xml",
		"<a><b></a>",
		"<a>",
		"<!DOCTYPE a [<!ENTITY e \"x\">]><a>&e;</a>",
		"<a><a><a><a><a><a><a><a><a></a></a></a></a></a></a></a></a></a>",
	};
	struct leaves l = {0};
	struct xml *x;

	CU_ASSERT_EQUAL_FATAL(xml_open(&x, element, &l), 0);
	for (size_t i = 0; i < sizeof(good) - 1; i++) /* byte by byte, as it may arrive */
		CU_ASSERT_EQUAL(xml_feed(x, good + i, 1), 0);
	CU_ASSERT_EQUAL(xml_end(x), 0);
	CU_ASSERT_STRING_EQUAL(l.text, "a/b=1 & 2;a/c/d= \xc3\xa9;a/c=;a=;");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		xml_reset(x);
		xml_feed(x, bad[i], strlen(bad[i]));
		CU_ASSERT_EQUAL(xml_end(x), -EPROTO);
	}
	xml_reset(x);
	l = (struct leaves){.stop = 2};
	CU_ASSERT_EQUAL(xml_feed(x, good, sizeof(good) - 1), -ECANCELED);
	CU_ASSERT_STRING_EQUAL(l.text, "a/b=1 & 2;a/c/d= \xc3\xa9;");
	xml_close(x);
}

static void test_servers(void)
{
	static const char *const texts[] = {"http://s3-{8...11}.x:9000/base/",
					    "https://a:443, http://b:80",
					    "https://n{01...02}-{1...2}", "https://10.0.0.1:9000"};
	static const char *const names[] = {
		"http://s3-8.x:9000/base",
		"http://s3-9.x:9000/base",
		"http://s3-10.x:9000/base",
		"http://s3-11.x:9000/base",
		"https://a",
		"http://b",
		"https://n01-1",
		"https://n01-2",
		"https://n02-1",
		"https://n02-2",
		"https://10.0.0.1:9000",
	};
	struct servers s;

	CU_ASSERT_EQUAL_FATAL(servers_parse(&s, texts, 4, "x", NULL), 0);
	CU_ASSERT_EQUAL_FATAL(s.count, sizeof(names) / sizeof(names[0]));
	for (uint32_t i = 0; i < s.count; i++)
		CU_ASSERT_STRING_EQUAL(s.list[i].name, names[i]);
	CU_ASSERT_STRING_EQUAL(s.list[0].host, "s3-8.x:9000");
	CU_ASSERT_STRING_EQUAL(s.list[0].base, "/base");
	CU_ASSERT_FALSE(s.list[0].tls);
	CU_ASSERT_STRING_EQUAL(s.list[4].host, "a");
	CU_ASSERT_TRUE(s.list[10].tls);
	CU_ASSERT_EQUAL(servers_resolve(&s, ""), 0);
	servers_free(&s);
}

static void test_servers_refused(void)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{"ftp://a",
		 "e: \"ftp://a\" is not an endpoint; write http://host:port or https://host"},
		{"127.0.0.1:27480",
		 "e: \"127.0.0.1:27480\" does not say whether the server speaks TLS; write "
		 "http://127.0.0.1:27480 or https://127.0.0.1:27480"},
		{"http://", "e: \"http://\" names no server"},
		{"http://a:b", "e: \"http://a:b\" has no port after the colon"},
		{"http://a:70000", "e: \"http://a:70000\" has no port after the colon"},
		{"http://a{1..2}", "e: \"http://a{1..2}\": a range is written {1...8}"},
		{"http://a{5...2}", "e: \"http://a{5...2}\": the range is empty or too long"},
		{"http://a{1...9999}", "e: \"http://a{1...9999}\": the range is empty or too long"},
		{"http://a?b",
		 "e: an endpoint has no user, no secret and no query: haul takes credentials from "
		 "the environment; write http://host:port or https://host"},
		{"AK:pa{ss@a",
		 "e: an endpoint has no user, no secret and no query: haul takes credentials from "
		 "the environment; write http://host:port or https://host"},
		{"", "e: \"\" names no server"},
		{"file:/nowhere/at/all", "e: /nowhere/at/all: No such file or directory"},
	};
	struct servers s;
	struct err err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		err.text[0] = '\0';
		CU_ASSERT(servers_parse(&s, &cases[i].text, 1, "e", &err) < 0);
		CU_ASSERT_STRING_EQUAL(err.text, cases[i].sentence);
	}
}

static void test_servers_from_a_file(void)
{
	char name[] = "/tmp/haul-endpoints-XXXXXX", text[64];
	const char *one = text;
	int fd = mkstemp(name);
	struct servers s;

	CU_ASSERT_FATAL(fd >= 0);
	dprintf(fd, "# ours\nhttp://a:1  # first\n\n  http://b{1...2}:2\n");
	close(fd);
	snprintf(text, sizeof(text), "file:%s", name);
	CU_ASSERT_EQUAL_FATAL(servers_parse(&s, &one, 1, "e", NULL), 0);
	CU_ASSERT_EQUAL(s.count, 3);
	CU_ASSERT_STRING_EQUAL(s.list[0].name, "http://a:1");
	CU_ASSERT_STRING_EQUAL(s.list[2].name, "http://b2:2");
	servers_free(&s);
	unlink(name);
}

static void test_profiles(void)
{
	static const char file[] =
		"# comment\n[default]\naws_access_key_id=AK1\n"
		"aws_secret_access_key = se=cret/+ \n\n[profile other]\r\n"
		"aws_access_key_id = AK2\r\naws_secret_access_key = s2\r\n"
		"aws_session_token = tok\r\nregion = x\n[half]\naws_access_key_id = AK3\n";
	struct credentials c;
	char text[sizeof(file)];

	CU_ASSERT_EQUAL(credentials_parse_profile(strcpy(text, file), "default", &c), 0);
	CU_ASSERT_STRING_EQUAL(c.key, "AK1");
	CU_ASSERT_STRING_EQUAL(c.secret, "se=cret/+");
	CU_ASSERT_STRING_EQUAL(c.token, "");
	CU_ASSERT_EQUAL(credentials_parse_profile(strcpy(text, file), "other", &c), 0);
	CU_ASSERT_STRING_EQUAL(c.key, "AK2");
	CU_ASSERT_STRING_EQUAL(c.token, "tok");
	CU_ASSERT_EQUAL(credentials_parse_profile(strcpy(text, file), "half", &c), -ENOENT);
	CU_ASSERT_EQUAL(credentials_parse_profile(strcpy(text, file), "none", &c), -ENOENT);
}

static void test_metadata(void)
{
	static const char good[] =
		"{\"Code\":\"Success\",\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\","
		"\"Token\":\"T\",\"Expiration\":\"2024-02-29T12:34:56Z\"}";
	static const char *const bad[] = {
		"", "{}", "[1]", "{\"AccessKeyId\":\"A\"}",
		"{\"AccessKeyId\":1,\"SecretAccessKey\":\"S\",\"Token\":\"T\"}"};
	struct credentials c;

	CU_ASSERT_EQUAL(credentials_parse_aws(good, strlen(good), &c), 0);
	CU_ASSERT_STRING_EQUAL(c.key, "A");
	CU_ASSERT_STRING_EQUAL(c.secret, "S");
	CU_ASSERT_STRING_EQUAL(c.token, "T");
	CU_ASSERT_EQUAL(c.expires, 1709210096);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT(credentials_parse_aws(bad[i], strlen(bad[i]), &c) < 0);
}

static void test_tokens(void)
{
	static const char number[] =
		"{\"access_token\":\"t\",\"expires_in\":3600,\"token_type\":\"Bearer\"}";
	static const char quoted[] = "{\"access_token\":\"t\",\"expires_in\":\"86399\"}";
	static const char *const bad[] = {"{}", "{\"access_token\":\"\"}",
					  "{\"access_token\":\"t\",\"expires_in\":-1}"};
	struct credentials c;

	CU_ASSERT_EQUAL(credentials_parse_token(number, strlen(number), 1000, &c), 0);
	CU_ASSERT_STRING_EQUAL(c.token, "t");
	CU_ASSERT_EQUAL(c.expires, 4600);
	CU_ASSERT_EQUAL(credentials_parse_token(quoted, strlen(quoted), 1000, &c), 0);
	CU_ASSERT_EQUAL(c.expires, 87399);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT(credentials_parse_token(bad[i], strlen(bad[i]), 1000, &c) < 0);
}

static void test_connection_strings(void)
{
	char full[] = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=aGVsbG8=;"
		      "BlobEndpoint=http://127.0.0.1:10000/a;";
	char made[] = "AccountName=acc;AccountKey=aGVsbG8=;EndpointSuffix=example.net";
	char sas[] = "AccountName=acc;SharedAccessSignature=sv=1&sig=a%3D;";
	char emulator[] = "UseDevelopmentStorage=true";
	char none[] = "AccountName=acc";
	struct azure_connection c;

	CU_ASSERT_EQUAL(credentials_parse_connection(full, &c), 0);
	CU_ASSERT_STRING_EQUAL(c.account, "a");
	CU_ASSERT_STRING_EQUAL(c.key, "aGVsbG8=");
	CU_ASSERT_STRING_EQUAL(c.endpoint, "http://127.0.0.1:10000/a");
	CU_ASSERT_EQUAL(credentials_parse_connection(made, &c), 0);
	CU_ASSERT_STRING_EQUAL(c.endpoint, "https://acc.blob.example.net");
	CU_ASSERT_EQUAL(credentials_parse_connection(sas, &c), 0);
	CU_ASSERT_STRING_EQUAL(c.sas, "sv=1&sig=a%3D");
	CU_ASSERT_EQUAL(credentials_parse_connection(none, &c), -EINVAL);
	CU_ASSERT_EQUAL(credentials_parse_connection(emulator, &c), 0);
	CU_ASSERT_STRING_EQUAL(c.account, "devstoreaccount1");
	CU_ASSERT_STRING_EQUAL(c.endpoint, "http://127.0.0.1:10000/devstoreaccount1");
	CU_ASSERT_EQUAL(credentials_sas_end("sv=1&se=2024-02-29T12%3A34%3A56Z&sp=r"), 1709210096);
	CU_ASSERT_EQUAL(credentials_sas_end("se=2024-02-29T12:34:56Z"), 1709210096);
	CU_ASSERT_EQUAL(credentials_sas_end("sv=1&use=2024-02-29T12:34:56Z"), -1);
	CU_ASSERT_EQUAL(credentials_sas_end("se="), -1);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"answer", test_answer},
		{"xml", test_xml},
		{"servers", test_servers},
		{"servers refused", test_servers_refused},
		{"servers from a file", test_servers_from_a_file},
		{"profiles", test_profiles},
		{"metadata", test_metadata},
		{"tokens", test_tokens},
		{"connection strings", test_connection_strings},
		CU_TEST_INFO_NULL,
	};

	return unit_main("parsers", tests);
}
