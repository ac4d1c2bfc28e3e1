/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/native/internal.h"

#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { LOOKUP_RUNS, LOOKUP_OVER, LOOKUP_LEFT };

struct native_lookup {
	_Atomic int state;
	int over; /* the event */
	char *name;
	char port[LOOKUP_PORT_BYTES];
	struct native_addresses found;
};

static void native_lookup_free(struct native_lookup *l)
{
	if (l->over >= 0)
		close(l->over);
	free(l->name);
	free(l);
}

/* Only addresses of the family that is preferred here: the other may lead nowhere. */
static void native_lookup_keep(struct native_addresses *to, const struct addrinfo *found)
{
	for (const struct addrinfo *a = found; a && to->count < LOOKUP_ADDRESSES; a = a->ai_next) {
		if (a->ai_family != found->ai_family || a->ai_addrlen > sizeof(to->list[0]))
			continue;
		memcpy(&to->list[to->count++], a->ai_addr, a->ai_addrlen);
	}
}

static void *native_lookup_run(void *argument)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct native_lookup *l = argument;
	struct addrinfo *found = NULL;
	int runs = LOOKUP_RUNS, over = l->over;

	if (getaddrinfo(l->name, l->port, &hints, &found) == 0) {
		native_lookup_keep(&l->found, found);
		freeaddrinfo(found);
	}
	/* From here on the owner may free it, but not before it has read the event. */
	if (atomic_compare_exchange_strong(&l->state, &runs, LOOKUP_OVER))
		eventfd_write(over, 1);
	else
		native_lookup_free(l);
	return NULL;
}

struct native_lookup *native_lookup_begin(const char *name, const char *port)
{
	struct native_lookup *l = calloc(1, sizeof(*l));
	sigset_t all, before;
	pthread_t thread;
	int rc;

	if (!l)
		return NULL;
	l->over = eventfd(0, EFD_CLOEXEC);
	l->name = strdup(name);
	strncpy(l->port, port, sizeof(l->port) - 1);
	if (l->over < 0 || !l->name) {
		native_lookup_free(l);
		return NULL;
	}
	/* Signals are for the threads that wait for them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&thread, NULL, native_lookup_run, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc != 0) {
		native_lookup_free(l);
		return NULL;
	}
	pthread_detach(thread);
	return l;
}

int native_lookup_fd(const struct native_lookup *l)
{
	return l->over;
}

bool native_lookup_is_for(const struct native_lookup *l, const char *name, const char *port)
{
	return strcmp(l->name, name) == 0 && strcmp(l->port, port) == 0;
}

void native_lookup_end(struct native_lookup *l, struct native_addresses *out)
{
	int runs = LOOKUP_RUNS;
	eventfd_t over;

	if (atomic_compare_exchange_strong(&l->state, &runs, LOOKUP_LEFT))
		return;
	eventfd_read(l->over, &over);
	if (out)
		*out = l->found;
	native_lookup_free(l);
}
