/* Tells the thread sanitizer what sem_clockwait is, which clang 14's does not know: a wait that sees all that
 * was done before the sem_post it has waited for. */
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
