/* SPDX-License-Identifier: Apache-2.0 */
/* Owner of a place: see owner.h. */
#include "core/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/clock_wait.h"
#include "core/part.h"
#include "core/time_ns.h"

enum { BOOT_BYTES = 37 };

size_t owner_text_line(char line[OWNER_TEXT_BYTES])
{
	char host[65] = "";
	time_t now = (time_t)(clock_utc_ns() / NS_PER_S);
	struct tm tm;
	size_t n;

	if (gethostname(host, sizeof(host) - 1) < 0 || !host[0])
		snprintf(host, sizeof(host), "unknown");
	gmtime_r(&now, &tm);
	n = (size_t)snprintf(line, OWNER_TEXT_BYTES, "host %.64s, process %d, since ", host,
			     (int)getpid());
	return n + strftime(line + n, OWNER_TEXT_BYTES - n, "%Y-%m-%d %H:%M:%S UTC\n", &tm);
}

/* The machine since it was started, and which processes of it see each other's numbers. */
static uint64_t owner_machine(char boot[BOOT_BYTES])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, boot, BOOT_BYTES - 1);
	struct stat st;

	if (fd >= 0)
		close(fd);
	boot[n == BOOT_BYTES - 1 ? n : 0] = '\0';
	return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* When the process was started, in ticks since the machine was. False: it has ended, though who
 * started it may not have asked how yet. See proc_pid_stat(5). */
static bool owner_process(int pid, uint64_t *started)
{
	char path[32], text[1024], state = 'Z', *end;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	end = strrchr(text, ')'); /* of the name of the program */
	return end &&
	       sscanf(end,
		      ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
		      "%*d %" SCNu64,
		      &state, started) == 2 &&
	       state != 'Z' && state != 'X';
}

void owner_text(char text[OWNER_OBJECT_BYTES])
{
	char line[OWNER_TEXT_BYTES], boot[BOOT_BYTES];
	uint64_t space = owner_machine(boot), started = 0;
	int n;

	owner_process((int)getpid(), &started);

	owner_text_line(line);
	n = snprintf(text, OWNER_OBJECT_BYTES, "%slease %08x%08x %s %" PRIu64 " %d %" PRIu64 "\n",
		     line, part_draw(), part_draw(), boot[0] ? boot : "-", space, (int)getpid(),
		     started);
	memset(text + n, ' ', OWNER_OBJECT_BYTES - (size_t)n);
}

void owner_text_who(char who[OWNER_TEXT_BYTES], const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && i < OWNER_TEXT_BYTES - 1 && text[i] >= ' ' && text[i] <= '~') {
		who[i] = text[i];
		i++;
	}
	who[i] = '\0';
	if (!i)
		snprintf(who, OWNER_TEXT_BYTES, "another process");
}

bool owner_text_is(const char *text, size_t n)
{
	char line[OWNER_TEXT_BYTES], year[5];
	int pid;

	n = n < sizeof(line) - 1 ? n : sizeof(line) - 1;
	memcpy(line, text, n);
	line[n] = '\0';
	return sscanf(line, "host %*[^,\n], process %9d, since %4[0-9]-", &pid, year) == 2;
}

bool owner_text_ended(const char *text, size_t n)
{
	char own[BOOT_BYTES], boot[BOOT_BYTES], copy[OWNER_OBJECT_BYTES + 1];
	uint64_t space, started, own_space = owner_machine(own), now;
	const char *line;
	int pid;

	n = n < OWNER_OBJECT_BYTES ? n : OWNER_OBJECT_BYTES;
	memcpy(copy, text, n);
	copy[n] = '\0';
	line = strchr(copy, '\n');
	if (!line || !own[0] || !own_space ||
	    sscanf(line, "\nlease %*16[0-9a-f] %36[0-9a-f-] %20" SCNu64 " %9d %20" SCNu64 "\n",
		   boot, &space, &pid, &started) != 4)
		return false;
	return strcmp(boot, own) == 0 && space == own_space && pid > 0 &&
	       (!owner_process(pid, &now) || now != started);
}

/* The file is removed by who gives the place back, maybe after it was opened here and before it is
 * locked. */
enum { OWNER_TRIES = 1000, OWNER_LOOKS = 100, OWNER_LOOK_NS = 5000000 };

static int owner_lock(int fd)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int rc;

	do {
		rc = fcntl(fd, F_OFD_SETLK, &whole) < 0 ? -errno : 0;
	} while (rc == -EINTR);
	if (rc == -EACCES)
		return -EAGAIN;
	return rc == 0 || rc == -EAGAIN ? rc : -ENOLCK;
}

static struct owner_file file_opened(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return (struct owner_file){0};
	return (struct owner_file){.device = st.st_dev, .number = st.st_ino};
}

static bool file_stands(struct owner_file file, const char *path)
{
	struct stat st;

	return file.number && lstat(path, &st) == 0 && st.st_ino == file.number &&
	       st.st_dev == file.device;
}

/* Whether the file at path is still the one that was opened. */
static bool owner_stands(int fd, const char *path)
{
	return file_stands(file_opened(fd), path);
}

/* The new text comes before what is cut off: a lock that says nothing would be taken for a file that haul did not make. */
static int owner_sign(int fd)
{
	char text[OWNER_TEXT_BYTES];
	size_t n = owner_text_line(text);
	int rc = lseek(fd, 0, SEEK_SET) < 0 ? -errno : part_fill(fd, text, n);

	return rc == 0 && ftruncate(fd, (off_t)n) < 0 ? -errno : rc;
}

/* Of a file system that gives a name only by a second one. */
static int owner_name(const char *part, const char *path)
{
	int rc = renameat2(AT_FDCWD, part, AT_FDCWD, path, RENAME_NOREPLACE) < 0 ? -errno : 0;

	if (rc == 0 || rc == -EEXIST)
		return rc;
	rc = link(part, path) < 0 ? -errno : 0;
	if (rc == 0)
		unlink(part);
	return rc;
}

/* Makes the lock under a drawn name, signed and locked, before it gets its own, so that nobody ever sees one of haul's that says
 * nothing, or half of it. over: in the place of the one that this process has locked. Returns its descriptor. */
static int owner_make(const char *path, bool over)
{
	char ending[PART_ENDING_BYTES], part[PATH_MAX];
	int fd, rc;

	part_ending(ending, PART_OF_OBJECT, part_draw());
	if (snprintf(part, sizeof(part), "%s%s", path, ending) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = part_open_own(part, 0666);
	if (fd < 0)
		return fd;
	rc = owner_sign(fd);
	if (rc == 0)
		rc = owner_lock(fd);
	if (rc == 0)
		rc = over ? part_put(part, path, false) : owner_name(part, path);
	if (rc == 0)
		return fd;
	unlink(part);
	close(fd);
	/* Who has the place by now has removed the part, too. */
	return rc == -ENOENT ? -EEXIST : rc;
}

/* The second name of a lock whose maker was killed before it took that away. */
static void owner_unlink_same(void *fd, const char *part)
{
	if (owner_stands(*(int *)fd, part))
		unlink(part);
}

/* Reads what the lock at path says. Refuses a file that haul did not make: a lock is written to and removed, so one of these would
 * be lost, under whatever other name it has, too. */
static int owner_read(int fd, const char *path, char who[OWNER_TEXT_BYTES], struct err *err)
{
	char text[OWNER_TEXT_BYTES];
	ssize_t n = pread(fd, text, sizeof(text), 0);
	struct stat st;

	/* Where a file system takes no drawn name, it is empty between its making and its signature. */
	for (int looks = 0; n == 0 && looks < OWNER_LOOKS && owner_stands(fd, path); looks++) {
		clock_nap(OWNER_LOOK_NS);
		n = pread(fd, text, sizeof(text), 0);
	}
	if (n > 0 && owner_text_is(text, (size_t)n) && fstat(fd, &st) == 0 && st.st_nlink > 1)
		part_visit(path, PART_OF_OBJECT, S_IFREG, owner_unlink_same, &fd);
	if (n < 0 || fstat(fd, &st) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!owner_stands(fd, path))
		return 0;
	if (st.st_nlink > 1)
		return err_set(
			err, -EINVAL,
			"%s: has a second name (a hard link), where haul locks a file of its "
			"own; move it",
			path);
	if (!owner_text_is(text, (size_t)n))
		return err_set(err, -EINVAL,
			       "%s: is a file that haul did not make, where haul locks one of its "
			       "own; move it",
			       path);
	owner_text_who(who, text, (size_t)n);
	return 0;
}

static int owner_refuse_kind(const char *path, struct err *err)
{
	return err_set(err, -EINVAL, "%s: is not a regular file, where haul locks one of its own",
		       path);
}

/* Opens the lock at path, which it makes if there is none: *made. */
static int owner_open(const char *path, bool *made, struct err *err)
{
	enum { ALWAYS = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };
	struct stat st;
	int fd = open(path, ALWAYS), rc;

	/* (O_NOFOLLOW: a link is never followed.) */
	*made = fd < 0 && errno == ENOENT;
	if (*made) {
		fd = owner_make(path, false);
		if (fd >= 0)
			return fd;
		/* The file system does not take such a name, or has no room for what the lock says. */
		fd = fd == -EEXIST ? fd : open(path, ALWAYS | O_CREAT | O_EXCL, 0666);
		if (fd == -EEXIST || (fd < 0 && errno == EEXIST))
			return -EAGAIN;
		if (fd >= 0)
			owner_sign(fd);
	}
	if (fd < 0) {
		rc = -errno;
		if (rc == -ELOOP)
			return err_set(err, rc,
				       "%s: is a symbolic link, where haul locks a file of its own",
				       path);
		return rc == -EISDIR ? owner_refuse_kind(path, err)
				     : err_set(err, rc, "%s: %s", path, strerror(-rc));
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return owner_refuse_kind(path, err);
	}
	return fd;
}

/* One try. -EAGAIN: the file was given back or replaced in between. */
static int owner_try(struct owner *o, const char *path, struct err *err)
{
	bool made;
	int fd = owner_open(path, &made, err), anew, rc;

	if (fd < 0)
		return fd;
	rc = made ? 0 : owner_read(fd, path, o->who, err);
	if (rc == 0) {
		rc = owner_lock(fd);
		if (rc == 0 && owner_stands(fd, path)) {
			anew = made ? fd : owner_make(path, true);
			if (anew < 0)
				owner_sign(fd);
			else if (anew != fd)
				close(fd);
			o->fd_and_one = (anew < 0 ? fd : anew) + 1;
			part_remove_left(path, PART_OF_OBJECT);
			return 0;
		}
		if (rc == -ENOLCK && made)
			unlink(path);
		rc = rc == -ENOLCK ? err_set(err, rc, "%s: this file system has no locks", path)
		     : rc == 0     ? -EAGAIN
				   : err_set(err, -EBUSY, "%s: is locked by %s", path, o->who);
	}
	close(fd);
	return rc;
}

int owner_take(struct owner *o, const char *path, struct err *err)
{
	int rc = -EAGAIN;

	o->path = strdup(path);
	if (!o->path)
		return err_set(err, -ENOMEM, "%s: no memory", path);
	snprintf(o->who, sizeof(o->who), "another process");
	for (int i = 0; rc == -EAGAIN && i < OWNER_TRIES; i++)
		rc = owner_try(o, path, err);
	if (rc == 0)
		return 0;
	free(o->path);
	o->path = NULL;
	return rc == -EAGAIN ? err_set(err, -EBUSY, "%s: is locked by %s", path, o->who) : rc;
}

struct owner_file owner_file(const struct owner *o)
{
	return o->fd_and_one ? file_opened(o->fd_and_one - 1) : (struct owner_file){0};
}

void owner_remove(const char *path, struct owner_file file)
{
	if (file_stands(file, path))
		unlink(path);
}

void owner_drop(struct owner *o)
{
	if (o->lease)
		o->drop(o);
	if (!o->fd_and_one) {
		*o = (struct owner){0};
		return;
	}
	/* What another has put there in its place stays. */
	owner_remove(o->path, owner_file(o));
	close(o->fd_and_one - 1);
	if (o->left)
		o->left(o->path);
	free(o->path);
	*o = (struct owner){0};
}
