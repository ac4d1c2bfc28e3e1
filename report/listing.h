/* Listing of a folder: its results files, the newest first. Files of other kinds are passed over; results files that
 * cannot be read are counted. */
#ifndef HAUL_REPORT_LISTING_H
#define HAUL_REPORT_LISTING_H

#include "core/err.h"
#include "report/document.h"
#include "results-schema/results_read.h"

enum { LISTING_FILES_MAX = 4096, LISTING_PATH_BYTES = 256 };

/* The figures are those of the last finished phase with a utilisation, else of the last one with bytes per second; NaN
 * where there is none. */
struct listing_row {
	char file[LISTING_PATH_BYTES]; /* its name in the folder */
	char name[RESULTS_NAME_BYTES], status[RESULTS_NAME_BYTES], started[RESULTS_NAME_BYTES];
	char phase[RESULTS_NAME_BYTES];
	uint64_t ranks, nodes, runs;
	double seconds, au, bytes_per_second;
};

struct listing {
	struct listing_row *rows;
	uint32_t count;
	uint32_t unreadable; /* files named *.h5 that are not results of haul */
};

/* Errno of reading the folder, with a sentence; -E2BIG where it has more than LISTING_FILES_MAX files named *.h5. Free it
 * in any case. */
int listing_make(struct listing *l, const char *folder, struct err *err);
void listing_free(struct listing *l);

/* Writes it as a document. about: a struct listing. */
document_writer listing_write;

#endif
