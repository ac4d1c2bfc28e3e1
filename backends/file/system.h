/* Which file system a folder lies on. */
#ifndef HAUL_BACKENDS_FILE_SYSTEM_H
#define HAUL_BACKENDS_FILE_SYSTEM_H

#include <stdint.h>

#define FILE_SYSTEM_LUSTRE UINT64_C(0x0bd00bd0)
#define FILE_SYSTEM_BEEGFS UINT64_C(0x19830326)

struct file_system {
	uint64_t magic; /* as statfs tells; 0: it does not */
	char name[32];  /* as mounted: "ext4", "fuse.daos"; else the magic in hexadecimal; or "" */
	char point[512], options[96]; /* where, and with which options of its own; or "" */
};

/* Of folder, or of the folder above it that stands. */
void file_system_find(const char *folder, struct file_system *fs);

#endif
