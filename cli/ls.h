/* What haul ls prints, an entry at a time. Private to it. */
#ifndef HAUL_CLI_LS_H
#define HAUL_CLI_LS_H

#include <stdbool.h>
#include <stdint.h>

/* Names are shown from the listed folder on; folders end in '/'. */
struct ls_show {
	bool json;
	const char *uri;
	uint64_t objects, folders, bytes, unsized;
};

void ls_begin(const struct ls_show *s);
/* size: LIST_SIZE_UNKNOWN where it is not known. Counts the entry, too. */
void ls_entry(struct ls_show *s, const char *name, uint64_t size);
/* more: there is what was not listed. */
void ls_end(const struct ls_show *s, bool more);

#endif
