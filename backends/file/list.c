/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/file/list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/store.h"

enum { LIST_BUFFER_BYTES = 32 << 10 };

static int give(struct request *req, const struct dirent64 *d)
{
	char folder[sizeof(d->d_name) + 1];

	if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
	    !listing_wants(req->listing, d->d_name))
		return 0;
	req->answer.done_bytes++;
	if (d->d_type != DT_DIR)
		return req->listing->entry(req, d->d_name, LIST_SIZE_UNKNOWN);
	snprintf(folder, sizeof(folder), "%s/", d->d_name);
	return req->listing->entry(req, folder, LIST_SIZE_UNKNOWN);
}

/* Entries until the page is full. The marker is where the one that was given last says the next
 * is. */
static int page(int fd, struct request *req)
{
	uint64_t most = req->length ? req->length : LIST_PAGE_ENTRIES;
	_Alignas(struct dirent64) char buffer[LIST_BUFFER_BYTES];
	ssize_t bytes;
	int rc;

	while ((bytes = getdents64(fd, buffer, sizeof(buffer))) > 0) {
		const struct dirent64 *d;

		for (char *at = buffer; at < buffer + bytes; at += d->d_reclen) {
			d = (const struct dirent64 *)at;
			rc = give(req, d);
			snprintf(req->listing->marker, sizeof(req->listing->marker), "%" PRId64,
				 (int64_t)d->d_off);
			if (rc < 0)
				return rc;
			if (req->answer.done_bytes >= most) {
				req->listing->more = true;
				return 0;
			}
		}
	}
	req->listing->more = false;
	return bytes < 0 ? -errno : 0;
}

int file_list(const char *path, struct request *req)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	int64_t at = strtoll(req->listing->marker, NULL, 10);

	if (fd < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	if (at && lseek(fd, at, SEEK_SET) < 0)
		rc = -errno;
	if (rc == 0)
		rc = page(fd, req);
	close(fd);
	return rc;
}
