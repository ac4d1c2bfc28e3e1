/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded library that steps the wall clock: from HAUL_CLOCK_AFTER seconds after the start of the
 * process on, CLOCK_REALTIME is HAUL_CLOCK_STEP seconds ahead. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static double began_s;

static double seconds_of(const struct timespec *t)
{
	return (double)t->tv_sec + (double)t->tv_nsec / 1e9;
}

static int real(clockid_t id, struct timespec *t)
{
	static int (*found)(clockid_t, struct timespec *);

	if (!found)
		found = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	return found(id, t);
}

__attribute__((constructor)) static void begin(void)
{
	struct timespec t;

	real(CLOCK_MONOTONIC, &t);
	began_s = seconds_of(&t);
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	const char *after = getenv("HAUL_CLOCK_AFTER"), *step = getenv("HAUL_CLOCK_STEP");
	struct timespec now;
	int rc = real(id, t);

	if (rc == 0 && id == CLOCK_REALTIME && after && step) {
		real(CLOCK_MONOTONIC, &now);
		if (seconds_of(&now) - began_s > atof(after))
			t->tv_sec += atol(step);
	}
	return rc;
}
