/* SPDX-License-Identifier: Apache-2.0 */
/* Doubly linked list whose links stand in its members: nothing is allocated, and a member may leave from anywhere. An empty list
 * is all zero, so memory from calloc holds empty lists. It serves as a line (append, take) and as a stack (prepend, take).
 *
 *	struct slot { …; struct list_link link; };
 *	list_append(&waiting, &slot->link);
 *	slot = list_member(list_take(&waiting), struct slot, link);
 *
 * A list belongs to one thread. A member is in one list per link, and must not move in memory while it is there. */
#ifndef HAUL_CORE_LIST_H
#define HAUL_CORE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list_link {
	struct list_link *before, *after; /* NULL at the ends */
};

struct list {
	struct list_link *first, *last; /* NULL: empty */
};

/* The struct of that type whose link it is; link is not NULL. */
#define list_member(link_, type, field) ((type *)(void *)((char *)(link_)-offsetof(type, field)))

static inline bool list_empty(const struct list *l)
{
	return !l->first;
}

static inline void list_append(struct list *l, struct list_link *link)
{
	*link = (struct list_link){.before = l->last};
	*(l->last ? &l->last->after : &l->first) = link;
	l->last = link;
}

static inline void list_prepend(struct list *l, struct list_link *link)
{
	*link = (struct list_link){.after = l->first};
	*(l->first ? &l->first->before : &l->last) = link;
	l->first = link;
}

/* The link is in this list. */
static inline void list_remove(struct list *l, struct list_link *link)
{
	*(link->before ? &link->before->after : &l->first) = link->after;
	*(link->after ? &link->after->before : &l->last) = link->before;
}

/* Takes the first one out; NULL: the list is empty. */
static inline struct list_link *list_take(struct list *l)
{
	struct list_link *link = l->first;

	if (!link)
		return NULL;
	l->first = link->after;
	*(link->after ? &link->after->before : &l->last) = NULL;
	return link;
}

#endif
