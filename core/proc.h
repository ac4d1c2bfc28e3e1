/* What Linux tells of this node in files of lines "key : value": /proc/cpuinfo, /proc/meminfo. */
#ifndef HAUL_CORE_PROC_H
#define HAUL_CORE_PROC_H

#include <stddef.h>
#include <stdint.h>

/* The value of the first line that begins with key; "" where there is none. Cut to bytes. */
void proc_value(const char *path, const char *key, char *out, size_t bytes);

/* A line of /proc/meminfo: "MemTotal", "MemAvailable". 0: unknown. */
uint64_t proc_memory_bytes(const char *key);

#endif
