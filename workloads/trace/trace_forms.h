/* What a trace may be written as: headers, and the writers of rows. Private to the traces. */
#ifndef HAUL_WORKLOADS_TRACE_TRACE_FORMS_H
#define HAUL_WORKLOADS_TRACE_TRACE_FORMS_H

#include "workloads/trace/trace.h"

#define TRACE_COLUMNS      "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
#define TRACE_MORE_COLUMNS ",Request,User,Rank,Latency_ns"
#define TRACE_WARP_COLUMNS \
	"idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\t" \
	"last_byte\tend\tduration_ns\tcat"

/* fio's iolog, version 3: each line has its time in microseconds. An object is a file of its own, "tier2.KEY" in the folder where
 * fio runs. Each operation opens its file, reads or writes it in pieces, and closes it. There are no deletes. */
void trace_write_fio(struct trace_writer *w, const struct trace_row *row);

/* The operation log that warp analyses: GET, PUT and DELETE of "tier2.KEY". */
void trace_write_warp(struct trace_writer *w, const struct trace_row *row);

#endif
