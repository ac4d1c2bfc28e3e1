/* Output of haul ls, one entry at a time. Private to the verb. */
#ifndef HAUL_CLI_LS_H
#define HAUL_CLI_LS_H

#include <stdbool.h>
#include <stdint.h>

/* Names are shown relative to the listed folder. Names of folders end in '/'. */
struct ls_show {
	bool json;
	const char *uri;
	uint64_t objects, folders, bytes, unsized;
};

void ls_begin(const struct ls_show *s);
/* Prints and counts an entry. size is LIST_SIZE_UNKNOWN where it is not known. */
void ls_entry(struct ls_show *s, const char *name, uint64_t size);
/* more: there are entries that were not listed. */
void ls_end(const struct ls_show *s, bool more);

#endif
