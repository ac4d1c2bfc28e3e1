/* SPDX-License-Identifier: Apache-2.0 */
/* Text writer: see text_writer.h. */
#include "core/text_writer.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/part.h"
#include "core/zstd.h"

enum { WRITER_LEVEL = 3, WRITER_BUFFER = 256 << 10 };

struct text_writer {
	int fd, rc;
	struct zstd_writer *zstd; /* NULL: plain */
	size_t held;
	char buffer[WRITER_BUFFER];
	uint8_t packed[WRITER_BUFFER];
};

static bool path_compressed(const char *path)
{
	size_t length = strlen(path);

	return length > 4 && strcmp(path + length - 4, ".zst") == 0;
}

int text_writer_open(struct text_writer **out, const char *path, bool force, struct err *err)
{
	struct text_writer *w = malloc(sizeof(*w));
	int rc = 0;

	if (!w)
		return err_set(err, -ENOMEM, "%s: no memory", path);
	w->rc = 0;
	w->held = 0;
	w->zstd = NULL;
	if (path_compressed(path))
		rc = zstd_writer_open(&w->zstd, WRITER_LEVEL, err);
	if (rc < 0) {
		free(w);
		return err_wrap(err, rc, "%s", path);
	}
	w->fd = part_open_place(path, force, "name another, or say --force", 0, err);
	if (w->fd < 0) {
		rc = w->fd;
		if (w->zstd)
			zstd_writer_close(w->zstd);
		free(w);
		return rc;
	}
	*out = w;
	return 0;
}

/* Writes what is held. */
static int writer_flush(struct text_writer *w, bool end)
{
	struct zstd_step step = {.in = w->buffer, .in_bytes = w->held, .out = w->packed};
	int more = 1, rc = 0;

	if (!w->zstd)
		rc = part_fill(w->fd, w->buffer, w->held);
	while (w->zstd && rc == 0 && more > 0) {
		step.room = sizeof(w->packed);
		step.made = 0;
		more = zstd_writer_step(w->zstd, &step, end);
		rc = more < 0 ? more : part_fill(w->fd, w->packed, step.made);
	}
	w->held = 0;
	return rc;
}

void text_writer_add(struct text_writer *w, const void *text, size_t bytes)
{
	if (w->rc == 0 && w->held + bytes > sizeof(w->buffer))
		w->rc = writer_flush(w, false);
	if (w->rc < 0)
		return;
	memcpy(w->buffer + w->held, text, bytes);
	w->held += bytes;
}

int text_writer_close(struct text_writer *w, const char *path, struct err *err)
{
	int rc = w->rc;

	if (rc == 0)
		rc = writer_flush(w, true);
	if (close(w->fd) < 0 && rc == 0)
		rc = -errno;
	if (w->zstd)
		zstd_writer_close(w->zstd);
	free(w);
	return rc < 0 ? err_set(err, rc, "%s: %s", path, strerror(-rc)) : 0;
}
