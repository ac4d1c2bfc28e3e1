/* The way from text to a job: check, parse, --set, read. */
#include "core/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/job_internal.h"
#include "core/json.h"

static int job_from_tree(struct job *job, const struct job_schema *schema, const char *source,
			 cJSON *root, const char *const *sets, unsigned set_count, struct err *err);
static const char *set_blamed(const char *text, const char *const *sets, char *const *pointers,
			      unsigned count);
static int read_whole(const char *path, char **text, size_t *length, struct err *err);

int job_parse(struct job *job, const struct job_schema *schema, const char *source,
	      const char *text, size_t length, const char *const *sets, unsigned set_count,
	      struct err *err)
{
	cJSON *root;
	int rc;

	memset(job, 0, sizeof(*job));
	if (length > JOB_TEXT_MAX)
		return err_set(err, -EINVAL, "%s: is larger than %d MiB, the most a job may be",
			       source, JOB_TEXT_MAX >> 20);
	rc = json_parse(&root, text, length, JOB_DEPTH_MAX, JOB_VALUES_MAX, err);
	if (rc < 0)
		return err_wrap(err, rc, "%s", source);
	rc = job_from_tree(job, schema, source, root, sets, set_count, err);
	cJSON_Delete(root);
	if (rc < 0)
		job_free(job);
	return rc;
}

static int job_from_tree(struct job *job, const struct job_schema *schema, const char *source,
			 cJSON *root, const char *const *sets, unsigned set_count, struct err *err)
{
	const char *blamed;
	char **pointers;
	unsigned i;
	int rc;

	if (!cJSON_IsObject(root))
		return err_set(err, -EINVAL, "%s: /: must be an object, is %s", source,
			       cJSON_IsArray(root) ? "a list" : "a bare value");
	pointers = arena_alloc(&job->arena, (set_count + 1) * sizeof(*pointers));
	for (i = 0; i < set_count && pointers; i++) {
		pointers[i] = arena_alloc(&job->arena, JOB_POINTER_BYTES);
		if (!pointers[i])
			break;
		rc = job_set(root, sets[i], pointers[i], err);
		if (rc < 0)
			return err_wrap(err, rc, "--set %.100s", sets[i]);
	}
	if (!pointers || i < set_count)
		return err_set(err, -ENOMEM, "%s: no memory", source);
	rc = job_read(job, schema, root, err);
	if (rc >= 0)
		return 0;
	blamed = set_blamed(err ? err->text : "", sets, pointers, set_count);
	return blamed ? err_wrap(err, rc, "--set %.100s", blamed) : err_wrap(err, rc, "%s", source);
}

/* The last --set that wrote the place a sentence is about, or NULL: the file's own fault. */
static const char *set_blamed(const char *text, const char *const *sets, char *const *pointers,
			      unsigned count)
{
	size_t n;

	while (count--) {
		n = strlen(pointers[count]);
		if (!strncmp(text, pointers[count], n) && (text[n] == ':' || text[n] == '/'))
			return sets[count];
	}
	return NULL;
}

int job_load(struct job *job, const struct job_schema *schema, const char *path,
	     const char *const *sets, unsigned set_count, struct err *err)
{
	size_t length = 0;
	char *text = NULL;
	int rc;

	memset(job, 0, sizeof(*job));
	rc = read_whole(path, &text, &length, err);
	if (rc < 0)
		return err_wrap(err, rc, "%s", path);
	rc = job_parse(job, schema, path, text, length, sets, set_count, err);
	free(text);
	return rc;
}

/* Reads up to one byte more than a job may have: from a file, a pipe, a process substitution. */
static int read_whole(const char *path, char **text, size_t *length, struct err *err)
{
	size_t size = 64 << 10, have = 0;
	char *buf, *larger;
	ssize_t n = 1;
	int fd, rc = 0;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	buf = malloc(size);
	while (buf && n && have <= JOB_TEXT_MAX) {
		if (have == size) {
			larger = realloc(buf, size *= 2);
			if (!larger)
				free(buf);
			buf = larger;
			continue;
		}
		n = read(fd, buf + have, size - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			rc = err_set(err, -errno, "%s", strerror(errno));
			break;
		}
		have += (size_t)n;
	}
	close(fd);
	if (!buf)
		return err_set(err, -ENOMEM, "no memory");
	if (rc < 0) {
		free(buf);
		return rc;
	}
	*text = buf;
	*length = have;
	return 0;
}

void job_free(struct job *job)
{
	arena_free(&job->arena);
	memset(job, 0, sizeof(*job));
}

const struct job_store *job_find_store(const struct job *job, const char *name)
{
	uint32_t i;

	for (i = 0; i < job->store_count; i++)
		if (!strcmp(job->stores[i].name, name))
			return &job->stores[i];
	return NULL;
}

const struct job_dataset *job_find_dataset(const struct job *job, const char *name)
{
	uint32_t i;

	for (i = 0; i < job->dataset_count; i++)
		if (!strcmp(job->datasets[i].name, name))
			return &job->datasets[i];
	return NULL;
}
