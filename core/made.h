/* SPDX-License-Identifier: Apache-2.0 */
/* Folders that haul makes for files of its own (locks, descriptions): each holds a record, which
 * says so from the moment that the folder has its name, so that no kill leaves one that nobody
 * knows. Such a folder goes when it holds nothing but its record; one that somebody else has made
 * has none, and stays. Any thread, and processes side by side. */
#ifndef HAUL_CORE_MADE_H
#define HAUL_CORE_MADE_H

#include <stdbool.h>

#define MADE_NAME ".haul-made"

/* Makes those on the way to path that do not stand: with records where path is a file of haul's own,
 * which .haul- begins or .haul-owner ends, else without (subfolders of data, which such a file
 * describes). Returns 0 or a negative errno. */
int made_folders(const char *path);
/* Removes the folder if it is haul's and holds nothing but its record. -ENOTEMPTY: it holds more,
 * or it is not haul's. */
int made_remove(const char *folder);
/* The same of the folder that path is in, and of those above it, where path was a file of haul's
 * own. */
void made_leave(const char *path);

#endif
