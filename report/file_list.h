/* SPDX-License-Identifier: Apache-2.0 */
/* Listing of a folder: its results files, the newest first. Files of other kinds are passed over;
 * results files that cannot be read are counted. */
#ifndef HAUL_REPORT_FILE_LIST_H
#define HAUL_REPORT_FILE_LIST_H

#include "core/err.h"
#include "facts/document.h"
#include "results-schema/results_read.h"

enum { FILE_LIST_FILES_MAX = 4096, FILE_LIST_PATH_BYTES = 256 };

/* The figures are those of the last finished phase with a utilisation, else of the last one with
 * bytes per second; NaN where there is none. */
struct file_list_row {
	char file[FILE_LIST_PATH_BYTES]; /* its name in the folder */
	char name[RESULTS_NAME_BYTES], status[RESULTS_NAME_BYTES], started[RESULTS_NAME_BYTES];
	char phase[RESULTS_NAME_BYTES];
	uint64_t ranks, nodes, runs;
	double seconds, au, bytes_per_second;
};

struct file_list {
	struct file_list_row *rows;
	uint32_t count;
	uint32_t unreadable; /* files named *.h5 that are not results of haul */
};

/* Errno of reading the folder, with a sentence; -E2BIG where it has more than FILE_LIST_FILES_MAX
 * files named *.h5. Free it in any case. */
int file_list_make(struct file_list *l, const char *folder, struct err *err);
void file_list_free(struct file_list *l);

/* Writes it as a document. about: a struct file_list. */
document_writer file_list_write;

#endif
