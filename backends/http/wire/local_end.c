/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/wire/local_end.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* From linux/in.h, which does not go together with netinet/in.h. */
#ifndef IP_BIND_ADDRESS_NO_PORT
#define IP_BIND_ADDRESS_NO_PORT 24
#endif

/* Whether the name is an address. */
static bool local_end_is_address(struct local_end *e)
{
	if (inet_pton(AF_INET, e->name, &e->v4.sin_addr) == 1)
		e->v4.sin_family = AF_INET;
	else if (inet_pton(AF_INET6, e->name, &e->v6.sin6_addr) == 1)
		e->v6.sin6_family = AF_INET6;
	return e->v4.sin_family || e->v6.sin6_family;
}

/* An interface's first address of each kind. One of the link alone leads to no server. */
static void local_end_keep_address(struct local_end *e, const struct sockaddr *a)
{
	const struct sockaddr_in6 *v6 = (const void *)a;

	if (a->sa_family == AF_INET && !e->v4.sin_family)
		memcpy(&e->v4, a, sizeof(e->v4));
	else if (a->sa_family == AF_INET6 && !e->v6.sin6_family &&
		 !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
		memcpy(&e->v6, a, sizeof(e->v6));
}

static bool local_end_is_own(const struct local_end *e, const struct sockaddr *a)
{
	if (a->sa_family == AF_INET && e->v4.sin_family)
		return memcmp(&((const struct sockaddr_in *)(const void *)a)->sin_addr,
			      &e->v4.sin_addr, sizeof(e->v4.sin_addr)) == 0;
	if (a->sa_family == AF_INET6 && e->v6.sin6_family)
		return memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
			      &e->v6.sin6_addr, sizeof(e->v6.sin6_addr)) == 0;
	return false;
}

/* The addresses of the interface that is named, or the interface of the address. */
static int local_end_look(struct local_end *e, struct err *err)
{
	struct ifaddrs *all;

	if (getifaddrs(&all) < 0)
		return err_set(err, -errno, "interface \"%s\": this node's cannot be listed: %s",
			       e->name, strerror(errno));
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		bool own = e->is_device ? strcmp(i->ifa_name, e->name) == 0
					: i->ifa_addr && local_end_is_own(e, i->ifa_addr);

		if (!own)
			continue;
		snprintf(e->device, sizeof(e->device), "%s", i->ifa_name);
		if (e->is_device && i->ifa_addr)
			local_end_keep_address(e, i->ifa_addr);
	}
	freeifaddrs(all);
	if (e->is_device && !e->device[0])
		return err_set(err, -ENODEV, "interface \"%s\": this node has no such interface",
			       e->name);
	if (e->is_device && !e->v4.sin_family && !e->v6.sin6_family)
		return err_set(err, -EADDRNOTAVAIL,
			       "interface \"%s\": has no address on this node; is it down?",
			       e->name);
	return 0;
}

static int local_end_try(const struct local_end *e, struct err *err)
{
	int family = e->v4.sin_family ? AF_INET : AF_INET6;
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc = fd < 0 ? -errno : local_end_bind(e, fd, family);

	if (fd >= 0)
		close(fd);
	if (rc == -EADDRNOTAVAIL)
		return err_set(err, rc, "interface \"%s\": this node has no such address", e->name);
	if (rc < 0)
		return err_set(err, rc, "interface \"%s\": cannot be used: %s", e->name,
			       strerror(-rc));
	return 0;
}

int local_end_find(struct local_end *e, const char *name, struct err *err)
{
	int rc;

	*e = (struct local_end){0};
	snprintf(e->name, sizeof(e->name), "%s", name);
	e->is_device = !local_end_is_address(e);
	rc = local_end_look(e, err);
	return rc < 0 ? rc : local_end_try(e, err);
}

int local_end_bind(const struct local_end *e, int fd, int family)
{
	int yes = 1, rc;

	if (e->is_device && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, e->device,
				       (socklen_t)strlen(e->device) + 1) == 0)
		return 0;
	/* The port is chosen when the connection is made: one that is taken for all servers would
	 * soon leave none. */
	setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof(yes));
	if (family == AF_INET && e->v4.sin_family) {
		struct sockaddr_in to = e->v4;

		to.sin_port = 0;
		rc = bind(fd, (const struct sockaddr *)&to, sizeof(to));
	} else if (family == AF_INET6 && e->v6.sin6_family) {
		struct sockaddr_in6 to = e->v6;

		to.sin6_port = 0;
		rc = bind(fd, (const struct sockaddr *)&to, sizeof(to));
	} else {
		return -EAFNOSUPPORT;
	}
	return rc < 0 ? -errno : 0;
}

bool local_end_near(const struct local_end *e, const cpu_set_t *processors)
{
	char path[64], line[1024] = "", *p = line;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/%s/device/local_cpulist", e->device);
	f = e->device[0] ? fopen(path, "re") : NULL;
	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	while (*p >= '0' && *p <= '9') {
		unsigned long first = strtoul(p, &p, 10), last = first;

		if (*p == '-')
			last = strtoul(p + 1, &p, 10);
		for (; first <= last && first < CPU_SETSIZE; first++)
			if (CPU_ISSET(first, processors))
				return true;
		p += *p == ',';
	}
	return false;
}
