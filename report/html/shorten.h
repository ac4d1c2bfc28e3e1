/* Shortening of JSON for a page, which has only so much room. */
#ifndef HAUL_REPORT_HTML_SHORTEN_H
#define HAUL_REPORT_HTML_SHORTEN_H

#include <stddef.h>

struct cJSON;

/* Bytes of the value as JSON on one line. Where there is no memory, more than any room. */
size_t shorten_bytes(const struct cJSON *value);

/* Cuts lists of objects or texts in an object, and in the objects below it, to their first rows. What was cut is in
 * the object's "left_out", by the name of the list. Lists of numbers and the list "files" are left as they are. */
void shorten_lists(struct cJSON *object, int rows);

/* Removes keys; keys ends with NULL. */
void shorten_drop(struct cJSON *object, const char *const *keys);

/* Leaves of a phase only what its row in the table of phases shows. */
void shorten_brief(struct cJSON *phase);

#endif
