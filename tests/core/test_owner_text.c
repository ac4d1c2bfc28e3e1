/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what a lock says of its owner: whether its process has ended, as others on the machine see
 * it, and the sentence for people. */
#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/owner.h"
#include "tests/unit.h"

static void of_this_process(void)
{
	char text[OWNER_OBJECT_BYTES], again[OWNER_OBJECT_BYTES], who[OWNER_TEXT_BYTES];

	owner_text(text);
	owner_text(again);
	CU_ASSERT(memcmp(text, again, sizeof(text)) != 0);
	CU_ASSERT_FALSE(owner_text_ended(text, sizeof(text)));
	owner_text_who(who, text, sizeof(text));
	CU_ASSERT_PTR_NOT_NULL(strstr(who, "host "));
	CU_ASSERT_PTR_NOT_NULL(strstr(who, ", process "));
	CU_ASSERT_PTR_NULL(strstr(who, "lease"));
}

/* The child that has ended is not waited for until the second look: it is a zombie at the first. */
static void of_a_process_that_ended(void)
{
	char text[OWNER_OBJECT_BYTES];
	int ends[2];
	pid_t child;
	siginfo_t how;

	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		owner_text(text);
		_exit(write(ends[1], text, sizeof(text)) != (ssize_t)sizeof(text));
	}
	CU_ASSERT_EQUAL(read(ends[0], text, sizeof(text)), (ssize_t)sizeof(text));
	CU_ASSERT_EQUAL(waitid(P_PID, (id_t)child, &how, WEXITED | WNOWAIT), 0);
	CU_ASSERT_TRUE(owner_text_ended(text, sizeof(text)));
	CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
	CU_ASSERT_TRUE(owner_text_ended(text, sizeof(text)));
	/* On another machine, or on this one before it was started anew, nothing is known of it. */
	text[strcspn(text, "\n") + strlen("\nlease 0123456789abcdef ")] ^= 1;
	CU_ASSERT_FALSE(owner_text_ended(text, sizeof(text)));
	close(ends[0]);
	close(ends[1]);
}

static void foreign_text(void)
{
	static const char *const texts[] = {"", "\n", "host\x1b[2J", "x\nlease 1 2", "x\nlease zz"};
	char who[OWNER_TEXT_BYTES];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		CU_ASSERT_FALSE(owner_text_ended(texts[i], strlen(texts[i])));
		owner_text_who(who, texts[i], strlen(texts[i]));
		CU_ASSERT_PTR_NULL(strchr(who, 0x1b));
		CU_ASSERT_PTR_NULL(strchr(who, '\n'));
	}
	owner_text_who(who, "", 0);
	CU_ASSERT_STRING_EQUAL(who, "another process");
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"of this process", of_this_process},
		{"of a process that ended", of_a_process_that_ended},
		{"foreign text", foreign_text},
		CU_TEST_INFO_NULL,
	};

	return unit_main("owner text", tests);
}
