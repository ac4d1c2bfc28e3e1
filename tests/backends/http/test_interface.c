/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the local end of connections and of dealing interfaces out to ranks, on the loopback
 * interface. */
#include "backends/http/interface.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit.h"

/* The address that a server on 127.0.0.1 sees of a client bound to that end. */
static void seen_from(const struct local_end *e, char text[INET_ADDRSTRLEN])
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof(at);
	int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), fd;

	CU_ASSERT_FATAL(bind(server, (struct sockaddr *)&at, sizeof(at)) == 0);
	CU_ASSERT_FATAL(listen(server, 1) == 0);
	CU_ASSERT_FATAL(getsockname(server, (struct sockaddr *)&at, &bytes) == 0);
	CU_ASSERT_EQUAL(local_end_bind(e, client, AF_INET), 0);
	CU_ASSERT_FATAL(connect(client, (struct sockaddr *)&at, sizeof(at)) == 0);
	fd = accept(server, (struct sockaddr *)&at, &bytes);
	CU_ASSERT_FATAL(fd >= 0);
	inet_ntop(AF_INET, &at.sin_addr, text, INET_ADDRSTRLEN);
	close(fd);
	close(client);
	close(server);
}

static void test_address(void)
{
	char text[INET_ADDRSTRLEN];
	struct err err = {0};
	struct local_end e;

	CU_ASSERT_FATAL(local_end_find(&e, "127.0.0.3", &err) == 0);
	CU_ASSERT(!e.is_device);
	for (int i = 0; i < 2; i++) {
		seen_from(&e, text);
		CU_ASSERT_STRING_EQUAL(text, "127.0.0.3");
	}
	CU_ASSERT(local_end_bind(&e, -1, AF_INET) == -EBADF);
	CU_ASSERT(local_end_bind(&e, -1, AF_INET6) == -EAFNOSUPPORT);
	CU_ASSERT_FATAL(local_end_find(&e, "127.0.0.1", &err) == 0);
	CU_ASSERT_STRING_EQUAL(e.device, "lo");
}

static void test_device(void)
{
	char text[INET_ADDRSTRLEN], device[IF_NAMESIZE] = "";
	socklen_t bytes = sizeof(device);
	struct err err = {0};
	struct local_end e;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CU_ASSERT_FATAL(local_end_find(&e, "lo", &err) == 0);
	CU_ASSERT(e.is_device);
	CU_ASSERT_EQUAL(local_end_bind(&e, fd, AF_INET), 0);
	CU_ASSERT_EQUAL(getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, &bytes), 0);
	CU_ASSERT_STRING_EQUAL(device, "lo");
	close(fd);
	seen_from(&e, text);
	CU_ASSERT_STRING_EQUAL(text, "127.0.0.1");
}

static void test_missing(void)
{
	static const struct {
		const char *name, *wanted;
		int rc;
	} missing[] = {
		{"hsn99", "interface \"hsn99\": this node has no such interface", -ENODEV},
		{"192.0.2.77", "interface \"192.0.2.77\": this node has no such address",
		 -EADDRNOTAVAIL},
	};

	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
		struct err err = {0};
		struct local_end e;

		CU_ASSERT_EQUAL(local_end_find(&e, missing[i].name, &err), missing[i].rc);
		CU_ASSERT_STRING_EQUAL(err.text, missing[i].wanted);
	}
}

static void test_dealt(void)
{
	static const struct {
		uint32_t ranks, count;
		uint64_t near[12];
		uint32_t wanted[12];
	} deals[] = {
		/* Nobody knows what is near: in turn. */
		{5, 3, {0}, {0, 1, 2, 0, 1}},
		/* Two sockets of 4 NICs, 12 ranks. */
		{12,
		 8,
		 {15, 15, 15, 15, 15, 15, 240, 240, 240, 240, 240, 240},
		 {0, 1, 2, 3, 0, 1, 4, 5, 6, 7, 4, 5}},
		/* The ranks of the sockets take turns. */
		{8, 4, {3, 12, 3, 12, 3, 12, 3, 12}, {0, 2, 1, 3, 0, 2, 1, 3}},
		/* One rank near nothing takes what is used least. */
		{4, 3, {1, 2, 0, 7}, {0, 1, 2, 0}},
		{1, 2, {2}, {1}},
	};

	for (size_t i = 0; i < sizeof(deals) / sizeof(deals[0]); i++) {
		uint32_t chosen[12] = {0};

		interfaces_deal(deals[i].near, deals[i].ranks, deals[i].count, chosen);
		for (uint32_t r = 0; r < deals[i].ranks; r++)
			CU_ASSERT_EQUAL(chosen[r], deals[i].wanted[r]);
	}
}

static void test_refused(void)
{
	static char *const lists[][2] = {
		{"hsn0", "hsn0"}, {"hsn0", ""}, {"hsn0,hsn1", NULL}, {"a b", NULL}, {"../x", NULL}};
	static char *const good[] = {"hsn0", "10.0.0.7", "fd00::1"}, *const none[] = {""};
	struct err err = {0};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct texts names = {lists[i][1] ? 2 : 1, (char **)lists[i]};

		CU_ASSERT_EQUAL(interfaces_check(&names, "/stores/d/interface", &err), -EINVAL);
		CU_ASSERT(strncmp(err.text, "/stores/d/interface: ", 21) == 0);
	}
	CU_ASSERT_EQUAL(interfaces_check(&(struct texts){3, (char **)good}, "", &err), 0);
	CU_ASSERT_EQUAL(interfaces_check(&(struct texts){1, (char **)none}, "", &err), 0);
	CU_ASSERT_EQUAL(interfaces_check(&(struct texts){0, NULL}, "", &err), 0);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"an address", test_address},
		{"an interface", test_device},
		{"what is not there", test_missing},
		{"dealt out to ranks", test_dealt},
		{"lists that are refused", test_refused},
		CU_TEST_INFO_NULL,
	};

	return unit_main("interfaces", tests);
}
