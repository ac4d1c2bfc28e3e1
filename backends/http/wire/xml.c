/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/wire/xml.h"

#include <errno.h>
#include <expat.h>
#include <stdlib.h>
#include <string.h>

struct xml {
	XML_Parser parser;
	xml_element element;
	void *user;
	int rc;
	const char *problem; /* where the parser itself has none to tell */
	unsigned depth;
	size_t path_used, ends[XML_DEPTH]; /* of the path, level by level */
	size_t text_used;
	bool leaf; /* the element under way has held no other so far */
	char path[XML_PATH_BYTES];
	char text[XML_TEXT_BYTES];
};

static void xml_stop(struct xml *x, int rc, const char *problem)
{
	if (!x->rc) {
		x->rc = rc;
		x->problem = problem;
	}
	XML_StopParser(x->parser, XML_FALSE);
}

static void XMLCALL xml_on_start(void *user, const XML_Char *name, const XML_Char **attributes)
{
	const char *colon = strrchr(name, ':');
	struct xml *x = user;
	size_t n;

	(void)attributes;
	name = colon ? colon + 1 : name;
	n = strlen(name);
	if (x->depth == XML_DEPTH || x->path_used + n + 2 > sizeof(x->path)) {
		xml_stop(x, -EPROTO, "elements too deep within each other");
		return;
	}
	if (x->depth)
		x->path[x->path_used++] = '/';
	memcpy(x->path + x->path_used, name, n + 1);
	x->path_used += n;
	x->ends[x->depth++] = x->path_used;
	x->text_used = 0;
	x->leaf = true;
}

static void XMLCALL xml_on_text(void *user, const XML_Char *s, int n)
{
	struct xml *x = user;

	if (!x->leaf)
		return;
	if (x->text_used + (size_t)n >= sizeof(x->text)) {
		xml_stop(x, -EPROTO, "a text of more than 4095 bytes");
		return;
	}
	memcpy(x->text + x->text_used, s, (size_t)n);
	x->text_used += (size_t)n;
}

static void XMLCALL xml_on_end(void *user, const XML_Char *name)
{
	struct xml *x = user;
	int rc;

	(void)name;
	/* After a stop, expat still tells the end of an empty element, whose start may not have
	 * counted. */
	if (x->rc)
		return;
	x->text[x->leaf ? x->text_used : 0] = '\0';
	rc = x->element(x->user, x->path, x->text);
	x->depth--;
	x->path_used = x->depth ? x->ends[x->depth - 1] : 0;
	x->path[x->path_used] = '\0';
	x->leaf = false;
	if (rc < 0)
		xml_stop(x, rc, "an element whose text makes no sense");
}

/* None of these stores sends a document type, with which entities would come. */
static void XMLCALL xml_on_doctype(void *user, const XML_Char *name, const XML_Char *sysid,
				   const XML_Char *pubid, int internal)
{
	(void)name;
	(void)sysid;
	(void)pubid;
	(void)internal;
	xml_stop(user, -EPROTO, "a document type");
}

void xml_reset(struct xml *x)
{
	XML_ParserReset(x->parser, NULL);
	XML_SetUserData(x->parser, x);
	XML_SetElementHandler(x->parser, xml_on_start, xml_on_end);
	XML_SetCharacterDataHandler(x->parser, xml_on_text);
	XML_SetStartDoctypeDeclHandler(x->parser, xml_on_doctype);
	x->rc = 0;
	x->problem = NULL;
	x->depth = 0;
	x->path_used = 0;
	x->text_used = 0;
	x->leaf = false;
	x->path[0] = '\0';
}

int xml_open(struct xml **out, xml_element element, void *user)
{
	struct xml *x = calloc(1, sizeof(*x));

	*out = NULL;
	if (!x)
		return -ENOMEM;
	x->parser = XML_ParserCreate(NULL);
	if (!x->parser) {
		free(x);
		return -ENOMEM;
	}
	x->element = element;
	x->user = user;
	xml_reset(x);
	*out = x;
	return 0;
}

void xml_close(struct xml *x)
{
	if (!x)
		return;
	XML_ParserFree(x->parser);
	free(x);
}

static int xml_parse(struct xml *x, const void *data, size_t n, int final)
{
	if (x->rc == 0 && XML_Parse(x->parser, data, (int)n, final) != XML_STATUS_OK && x->rc == 0)
		x->rc = -EPROTO;
	return x->rc;
}

int xml_feed(struct xml *x, const void *data, size_t n)
{
	return xml_parse(x, data, n, 0);
}

int xml_end(struct xml *x)
{
	return xml_parse(x, "", 0, 1);
}

const char *xml_problem(const struct xml *x)
{
	if (x->problem)
		return x->problem;
	switch (XML_GetErrorCode(x->parser)) {
	case XML_ERROR_NO_ELEMENTS:
		return x->path_used ? "an end in the middle" : "nothing at all";
	case XML_ERROR_UNCLOSED_TOKEN:
	case XML_ERROR_UNCLOSED_CDATA_SECTION:
		return "an end in the middle";
	case XML_ERROR_TAG_MISMATCH:
		return "an element that is closed by the end of another";
	case XML_ERROR_JUNK_AFTER_DOC_ELEMENT:
		return "something behind its end";
	default:
		return x->path_used ? "something that is not XML" : "no XML at all";
	}
}

unsigned long xml_line(const struct xml *x)
{
/* The first name is deprecated since expat has the second, in 2.9.0. */
#if XML_MAJOR_VERSION == 2 && XML_MINOR_VERSION < 9
	return XML_GetCurrentLineNumber(x->parser);
#else
	return XML_GetCurrentLineNumber64(x->parser);
#endif
}
