/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/backends/http/client_buffer.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/unit.h"

int client_socket(uint16_t port)
{
	struct sockaddr_in a = {0};
	int found = 0, client = -1;

	for (int fd = 3; fd < 64; fd++) {
		socklen_t n = sizeof(a);

		if (getpeername(fd, (struct sockaddr *)&a, &n) < 0 || ntohs(a.sin_port) != port)
			continue;
		client = fd;
		found++;
	}
	CU_ASSERT_EQUAL_FATAL(found, 1);
	return client;
}

int client_buffer(uint16_t port, int bytes)
{
	int fd = client_socket(port), got = 0;
	socklen_t n = sizeof(got);

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &got, &n);
	return got;
}
