/* csv: rows, counted; the last ends as the others do. */
#include <string.h>

#include "workloads/formats/walk.h"

const char *walk_csv(struct walk *w, struct walk_piece *p)
{
	const uint8_t *end = p->at + p->left, *found;

	if (p->left)
		w->value = end[-1];
	while ((found = memchr(p->at, '\n', (size_t)(end - p->at)))) {
		w->count++;
		p->at = found + 1;
	}
	p->at = end;
	p->left = 0;
	return NULL;
}

const char *walk_csv_end(const struct walk *w, uint64_t samples)
{
	if (w->value != '\n')
		return "ends inside a row";
	return w->count == samples ? NULL : "has another number of rows than samples";
}
