/* SPDX-License-Identifier: Apache-2.0 */
/* Main function of unit tests: see unit.h. */
#include "tests/unit.h"

#include <CUnit/Basic.h>
#include <CUnit/TestRun.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* A hang is looked for once a minute. A test that computes for ten minutes of processor time, or
 * that has waited for LOOKS minutes and used less than a twentieth of the processor, hangs. Neither
 * is true of one that is slow because others run. */
enum {
	LOOK_S = 60,
	LOOKS = 2,
	WAITS_MS = LOOK_S * 1000 / 20,
	COMPUTES_MS = 10 * 60 * 1000,
	TEXT_BYTES = 2048
};

/* What the signal handler knows of the test that runs. */
static struct {
	CU_pTest test;
	int idle_looks; /* in turn, without work */
	long spent_ms;  /* of the processor, at the last look */
	long began_ms;
} running;

static long processor_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void look(int signal_number)
{
	static const char says[] = " hangs: it has waited for two minutes, or computed for ten\n";
	CU_pTest test = CU_get_current_test();
	long now_ms = processor_ms();

	(void)signal_number;
	if (!test || test != running.test) {
		running.test = test;
		running.idle_looks = 0;
		running.spent_ms = running.began_ms = now_ms;
		return;
	}
	running.idle_looks = now_ms - running.spent_ms < WAITS_MS ? running.idle_looks + 1 : 0;
	running.spent_ms = now_ms;
	if (running.idle_looks < LOOKS && now_ms - running.began_ms < COMPUTES_MS)
		return;
	/* Only write() may be called in a handler. A debugger, or a core file, shows where the test
	 * is. */
	if (write(STDERR_FILENO, test->pName, strlen(test->pName)) < 0 ||
	    write(STDERR_FILENO, says, sizeof(says) - 1) < 0)
		abort();
	abort();
}

static void watch(void)
{
	const struct itimerval each = {{LOOK_S, 0}, {LOOK_S, 0}};
	struct sigaction act = {.sa_handler = look, .sa_flags = SA_RESTART};

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &each, NULL);
}

/* The arguments of the program, which main() of a test need not hand on: words, each with its
 * terminating zero. */
static size_t arguments(char *words, size_t bytes)
{
	FILE *f = fopen("/proc/self/cmdline", "r");
	size_t n = f ? fread(words, 1, bytes - 1, f) : 0;

	if (f)
		fclose(f);
	words[n] = '\0';
	return n;
}

static bool asked_for(const char *name)
{
	char words[TEXT_BYTES];
	size_t n = arguments(words, sizeof(words));

	for (const char *w = words; w < words + n; w += strlen(w) + 1) {
		if (strcmp(w, name) == 0)
			return true;
	}
	return false;
}

static int run(const char *suite, const CU_TestInfo *tests)
{
	CU_pSuite s = CU_add_suite(suite, NULL, NULL);
	const CU_TestInfo *t;
	bool some = false;

	if (!s)
		return 1;
	for (t = tests; t->pName; t++)
		some = some || asked_for(t->pName);
	for (t = tests; t->pName; t++) {
		if ((!some || asked_for(t->pName)) && !CU_add_test(s, t->pName, t->pTestFunc))
			return 1;
	}
	CU_basic_set_mode(CU_BRM_NORMAL);
	watch();
	if (CU_basic_run_tests() != CUE_SUCCESS)
		return 1;
	/* A suite that has run no test would otherwise pass. */
	return CU_get_number_of_failures() > 0 || CU_get_number_of_tests_run() == 0;
}

bool unit_full(void)
{
	return getenv("HAUL_TEST_FULL") != NULL;
}

int unit_main(const char *suite, const CU_TestInfo *tests)
{
	int rc;

	if (asked_for("--list")) {
		for (; tests->pName; tests++)
			puts(tests->pName);
		return 0;
	}
	if (CU_initialize_registry() != CUE_SUCCESS) {
		fprintf(stderr, "%s: %s\n", suite, CU_get_error_msg());
		return 1;
	}
	rc = run(suite, tests);
	if (CU_get_error() != CUE_SUCCESS)
		fprintf(stderr, "%s: %s\n", suite, CU_get_error_msg());
	CU_cleanup_registry();
	return rc;
}

struct unit_value unit_signed(long long i)
{
	return (struct unit_value){.kind = UNIT_SIGNED, .i = i};
}

struct unit_value unit_unsigned(unsigned long long u)
{
	return (struct unit_value){.kind = UNIT_UNSIGNED, .u = u};
}

struct unit_value unit_real(double d)
{
	return (struct unit_value){.kind = UNIT_REAL, .d = d};
}

struct unit_value unit_address(const volatile void *p)
{
	return (struct unit_value){.kind = UNIT_ADDRESS, .p = p};
}

struct unit_value unit_text(const char *s)
{
	return (struct unit_value){.kind = UNIT_TEXT, .s = s};
}

static int print(char *text, size_t bytes, struct unit_value v)
{
	switch (v.kind) {
	case UNIT_SIGNED:
		return snprintf(text, bytes, "%lld", v.i);
	case UNIT_UNSIGNED:
		return snprintf(text, bytes, "%llu", v.u);
	case UNIT_REAL:
		return snprintf(text, bytes, "%.17g", v.d);
	case UNIT_TEXT:
		return snprintf(text, bytes, v.s ? "\"%.600s\"" : "NULL", v.s);
	default:
		return snprintf(text, bytes, "%p", (const void *)v.p);
	}
}

void unit_compare(bool holds, struct unit_value actual, struct unit_value expected, unsigned line,
		  const char *text, const char *file, bool fatal)
{
	char message[TEXT_BYTES] = "", a[800], e[800];

	if (!holds) {
		print(a, sizeof(a), actual);
		print(e, sizeof(e), expected);
		snprintf(message, sizeof(message), "%.300s: is %s, expected %s", text, a, e);
	}
	CU_assertImplementation(holds, line, holds ? text : message, file, "", fatal);
}

void unit_compare_text(const char *actual, const char *expected, unsigned line, const char *text,
		       const char *file, bool fatal)
{
	unit_compare(actual == expected || (actual && expected && strcmp(actual, expected) == 0),
		     unit_text(actual), unit_text(expected), line, text, file, fatal);
}
