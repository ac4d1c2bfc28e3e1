/* SPDX-License-Identifier: Apache-2.0 */
/* struct err: the sentence that says what went wrong, which callers extend on the way up.
 *
 * A function that can fail returns 0 or a negative errno and fills the caller's struct err. Only
 * cli/ prints one. Plain data without ownership; each thread has its own. */
#ifndef HAUL_CORE_ERR_H
#define HAUL_CORE_ERR_H

#include "core/arithmetic.h"

enum { ERR_TEXT_BYTES = 1024 };

struct err {
	int code;                  /* 0 or a negative errno */
	char text[ERR_TEXT_BYTES]; /* one sentence, without the program's name or a newline */
};

/* Stores what went wrong. rc is a negative errno and is returned. e may be NULL. */
int err_set(struct err *e, int rc, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "<format>: " before the text in e (or before the errno's own text where e is empty). Returns
 * rc. */
int err_wrap(struct err *e, int rc, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* For clang's analyzer, which does not look into functions with `...`: the value is rc. */
#ifdef __clang_analyzer__
#define err_set(e, rc, ...)  ((void)err_set(e, rc, __VA_ARGS__), (rc))
#define err_wrap(e, rc, ...) ((void)err_wrap(e, rc, __VA_ARGS__), (rc))
#endif

#endif
