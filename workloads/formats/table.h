/* SPDX-License-Identifier: Apache-2.0 */
/* Table of the data formats. One line registers a format:
 *
 *	FORMAT(NAME, name)        NAME.c defines `const struct format_ops format_name`
 *	WITH_OPTIONS(NAME, name)  … and `const struct option name_options[]`: what a data set may say
 *	                          under the format's name, as in {"hdf5": {"datasets": 2}}
 *
 * All that must know every format is made from this list: the enum, the names, the choices of
 * `dataset.format`, the option tables of a data set, the lists in messages and in tests. Add new
 * formats at the end: fuzz seeds count on the order. */
#ifndef HAUL_WORKLOADS_FORMATS_TABLE_H
#define HAUL_WORKLOADS_FORMATS_TABLE_H

#include "workloads/formats/format.h"

/* clang-format off */
#define FORMATS(FORMAT, WITH_OPTIONS) \
	FORMAT(RAW, raw) \
	FORMAT(NPY, npy) \
	FORMAT(NPZ, npz) \
	FORMAT(TFRECORD, tfrecord) \
	FORMAT(PNG, png) \
	FORMAT(JPEG, jpeg) \
	FORMAT(CSV, csv) \
	WITH_OPTIONS(HDF5, hdf5) \
	FORMAT(SAFETENSORS, safetensors) \
	WITH_OPTIONS(PARQUET, parquet) \
	FORMAT(INDEXED_BINARY, indexed_binary) \
	FORMAT(MMAP_INDEXED_BINARY, mmap_indexed_binary)
/* clang-format on */

/* Indexes into format_table() and format_names. */
#define FORMAT_INDEX(upper, lower) FORMAT_##upper,
enum format_index { FORMATS(FORMAT_INDEX, FORMAT_INDEX) FORMATS_COUNT };
#undef FORMAT_INDEX

#define FORMAT_NOTHING(upper, lower)
#define FORMAT_OPTIONS(upper, lower) extern const struct option lower##_options[];
FORMATS(FORMAT_NOTHING, FORMAT_OPTIONS)
#undef FORMAT_OPTIONS
#undef FORMAT_NOTHING

/* The options of every format, each in the struct that the format's own file defines. Room for more
 * formats than there are, so that the structs around it do not change with the table. */
enum { FORMATS_MAX = 32 };
struct format_options {
	_Alignas(8) unsigned char of[FORMATS_MAX][FORMAT_OPTION_BYTES];
};

const struct format_ops *const *format_table(void); /* NULL-terminated */
extern const char *const format_names[];            /* NULL-terminated, for OPT_CHOICE */

/* What names of files in the format end with, behind the dot. */
const char *format_extension(uint32_t format);

/* "raw, tfrecord": the names of the formats for which which() is true, into text. Returns text. */
enum { FORMAT_LIST_BYTES = 512 };
const char *format_list(char text[FORMAT_LIST_BYTES], bool (*which)(const struct format_ops *));

#endif
