/* SPDX-License-Identifier: Apache-2.0 */
/* What a signal handler may know of its thread is thread-local: the one place in haul that needs
 * it. */
#include "backends/file/file.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

static _Thread_local const struct fault_guard *current;

/* Zeroes from the missing page to the end of the guarded range: behind the end of a file that was
 * cut there is nothing, and one fault does for all of it. mmap is a plain system call, fit for a
 * handler. */
static bool cover(const struct fault_guard *g, char *at)
{
	char *page = at - ((uintptr_t)at & (g->page_bytes - 1)), *end = g->base + g->bytes;

	__atomic_store_n(g->broken, 1, __ATOMIC_SEQ_CST);
	return mmap(page, (size_t)(end - page), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		    -1, 0) != MAP_FAILED;
}

static void on_bus(int number, siginfo_t *info, void *context)
{
	const struct fault_guard *g = current;
	char *at = info->si_addr;
	int saved = errno;

	(void)context;
	if (!g || at < g->base || at >= g->base + g->bytes || !cover(g, at))
		signal(number, SIG_DFL); /* the access is made again, and ends the process */
	errno = saved;
}

int fault_guard_install(void)
{
	struct sigaction now, ours = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};

	if (sigaction(SIGBUS, NULL, &now) < 0)
		return -errno;
	if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_bus)
		return 0;
	sigemptyset(&ours.sa_mask);
	return sigaction(SIGBUS, &ours, NULL) < 0 ? -errno : 0;
}

/* The fences keep the compiler from moving the guarded reads out. */
void fault_guard_enter(const struct fault_guard *g)
{
	current = g;
	atomic_signal_fence(memory_order_seq_cst);
}

void fault_guard_leave(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	current = NULL;
}
