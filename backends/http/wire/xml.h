/* The small XML documents of object stores, read as they come: each element, at its end, with its path
 * below the root and its text. On expat, which allocates: for listings, uploads and errors, not for the
 * bytes of objects. */
#ifndef HAUL_BACKENDS_HTTP_WIRE_XML_H
#define HAUL_BACKENDS_HTTP_WIRE_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { XML_DEPTH = 8, XML_PATH_BYTES = 160, XML_TEXT_BYTES = 4096 };

struct xml;

/* path: "ListBucketResult/Contents/Key". text: at most XML_TEXT_BYTES - 1 bytes, spaces kept; "" for an
 * element of elements. A negative return ends the reading with it. */
typedef int (*xml_element)(void *user, const char *path, const char *text);

int xml_open(struct xml **out, xml_element element, void *user);
void xml_close(struct xml *x);
/* Begins a new document. */
void xml_reset(struct xml *x);
/* 0, what element returned, or -EPROTO: no XML, a document type, or a text too long. */
int xml_feed(struct xml *x, const void *data, size_t n);
/* The document is over: -EPROTO when it is not whole. */
int xml_end(struct xml *x);

#endif
