/* SPDX-License-Identifier: Apache-2.0 */
/* MLPerf Storage's class of a workload, within which its results are compared (published as
 * core-config-v1). mlperf/ computes it. */
#ifndef HAUL_CORE_RULE_CLASS_H
#define HAUL_CORE_RULE_CLASS_H

#include <stddef.h>
#include <stdint.h>

struct cJSON;

enum { CLASS_DIGITS = 16, CLASS_PHASE_BYTES = 96, CLASS_SAID_BYTES = 96, CLASSES_MAX = 64 };

struct workload_class {
	char hash[CLASS_DIGITS + 1];     /* "": this haul was built without what computes it */
	char phase[CLASS_PHASE_BYTES];   /* of haul's job; "": it is of a file of DLIO's */
	char of[CLASS_SAID_BYTES];       /* the published workload that has it; "": none */
	char editions[CLASS_SAID_BYTES]; /* with which results are comparable; "": with none */
};

/* "0d3ad0dec188becd, that of unet3d on b200, edition 3.0". */
void class_say(char *text, size_t bytes, const struct workload_class *c);

/* Adds the list "classes", one object for each. */
void class_json(struct cJSON *to, const struct workload_class *classes, uint32_t count);

#endif
