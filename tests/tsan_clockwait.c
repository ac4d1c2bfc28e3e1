/* SPDX-License-Identifier: Apache-2.0 */
/* Annotates sem_clockwait for the thread sanitizer, because that of clang 14 does not know it: the
 * wait sees everything that happened before the sem_post for which it waited. */
#include <semaphore.h>
#include <time.h>

void __tsan_acquire(void *address);
int __real_sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *t);
int __wrap_sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *t);

int __wrap_sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *t)
{
	int rc = __real_sem_clockwait(s, clock, t);

	if (rc == 0)
		__tsan_acquire(s);
	return rc;
}
