/* SPDX-License-Identifier: Apache-2.0 */
/* The small XML documents of object stores, read as they come: the reader reports each element at
 * its end, with its path below the root and its text. Built on expat, which allocates: for
 * listings, uploads and errors, not for the bytes of objects. */
#ifndef HAUL_BACKENDS_HTTP_WIRE_XML_H
#define HAUL_BACKENDS_HTTP_WIRE_XML_H

#include <stdbool.h>
#include <stddef.h>

enum { XML_DEPTH = 8, XML_PATH_BYTES = 160, XML_TEXT_BYTES = 4096 };

struct xml;

/* path: "ListBucketResult/Contents/Key". text: at most XML_TEXT_BYTES - 1 bytes, spaces kept; ""
 * for an element that holds elements. A negative return ends the reading with it. */
typedef int (*xml_element)(void *user, const char *path, const char *text);

int xml_open(struct xml **out, xml_element element, void *user);
void xml_close(struct xml *x);
/* Begins a new document. */
void xml_reset(struct xml *x);
/* 0, what element returned, or -EPROTO, of which xml_problem says why. */
int xml_feed(struct xml *x, const void *data, size_t n);
/* The document is over; -EPROTO where it is not whole. */
int xml_end(struct xml *x);

/* What was wrong with a document that ended with -EPROTO: a noun phrase for the end of a sentence,
 * "no XML at all", "a document type". Static. And the line where it was met, from 1. */
const char *xml_problem(const struct xml *x);
unsigned long xml_line(const struct xml *x);

#endif
