/* Codes by which stores name an error, in S3's, Azure's and Google's words, and what they mean. */
#ifndef HAUL_BACKENDS_HTTP_CODE_H
#define HAUL_BACKENDS_HTTP_CODE_H

#include <stdbool.h>

#include "backends/request.h"

struct code_meaning {
	const char *code;
	int status;
	enum request_fault fault;
	bool transient; /* another attempt may do better */
	const char *why;
};

/* NULL: nobody knows the code. */
const struct code_meaning *code_find(const char *code);

#endif
