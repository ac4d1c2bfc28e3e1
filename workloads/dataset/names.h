/* SPDX-License-Identifier: Apache-2.0 */
/* Name templates: names of files as functions of their number.
 *
 *	{i}       the file's number, from 0            img_{i:07}_of_{n}.npz
 *	{n}       the number of files                  {i/1000:03}/{i%1000:04}.jpeg
 *	+k /k %k  after either, computed from the left  part-{i+1:05}.tfrecord
 *	:0w       at the end: at least w digits, with zeros before (:0wd says the same)
 *	{{ }}     a brace
 *
 * Stateless, any thread. */
#ifndef HAUL_WORKLOADS_DATASET_NAMES_H
#define HAUL_WORKLOADS_DATASET_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

/* -EINVAL with a sentence where the template is wrong, or does not surely give each of n files a
 * name of its own, or gives one that is not a plain path, or that does not fit in room bytes. */
int names_check(const char *template, uint64_t n, size_t room, struct err *err);

/* The name of file i of n, by a template that was checked. */
void names_expand(const char *template, uint64_t i, uint64_t n, char *out, size_t room);

#endif
