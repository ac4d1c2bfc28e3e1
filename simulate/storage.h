/* SPDX-License-Identifier: Apache-2.0 */
/* Storage: the options of the model from a text of the command line, and as a text. */
#ifndef HAUL_SIMULATE_STORAGE_H
#define HAUL_SIMULATE_STORAGE_H

#include "backends/sim/model.h"
#include "core/units.h"

enum { STORAGE_TEXT_BYTES = 1024 };

/* An unlimited store. */
int storage_default(struct sim_options *out, struct err *err);

/* Adds "bandwidth=10 TB/s, opens=500k/s, latency=1 ms" to options. -EINVAL with a sentence. */
int storage_parse(struct sim_options *into, const char *text, struct err *err);

/* The same of one, without a look at how it goes with the others. */
int storage_parse_one(struct sim_options *into, const char *text, struct err *err);

/* Sets one of them, by a number in the unit of results: bytes per second, seconds, or a plain number. */
int storage_set(struct sim_options *into, const char *key, double value, struct err *err);
/* Its value in that unit; NAN: there is no such key, or it is no number. */
double storage_get(const struct sim_options *o, const char *key);

/* A value of the key in words, with its unit. */
void storage_value_text(const char *key, double value, char text[UNITS_TEXT_BYTES]);

/* What differs from an unlimited store, as storage_parse takes it; "unlimited". */
void storage_text(const struct sim_options *o, char text[STORAGE_TEXT_BYTES]);

#endif
