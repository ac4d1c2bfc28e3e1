#include "tests/backends/http/client_buffer.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/unit.h"

int client_buffer(uint16_t port, int bytes)
{
	struct sockaddr_in a;
	int found = 0, got = 0;

	for (int fd = 3; fd < 64; fd++) {
		socklen_t n = sizeof(a), got_bytes = sizeof(got);

		if (getpeername(fd, (struct sockaddr *)&a, &n) < 0 || ntohs(a.sin_port) != port)
			continue;
		if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0)
			setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
		getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &got, &got_bytes);
		found++;
	}
	CU_ASSERT_EQUAL_FATAL(found, 1);
	return got;
}
