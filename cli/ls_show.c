/* Output of haul ls: see ls.h. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "cli/cli.h"
#include "cli/ls.h"
#include "core/json.h"
#include "core/units.h"

enum { SIZE_COLUMNS = 9 };

static bool ls_is_folder(const char *name)
{
	size_t n = strlen(name);

	return n && name[n - 1] == '/';
}

static void ls_print_json(const char *text)
{
	cJSON *value = cJSON_CreateString(text);
	char *quoted = value ? json_print(value) : NULL;

	/* Leaves out the newline at the end. */
	printf("%.*s", quoted ? (int)strlen(quoted) - 1 : 4, quoted ? quoted : "null");
	free(quoted);
	cJSON_Delete(value);
}

/* A name may hold control characters, which could move the terminal's cursor. */
static void ls_print_name(const char *name)
{
	for (; *name; name++)
		putchar((unsigned char)*name < ' ' || *name == 0x7f ? '?' : *name);
	putchar('\n');
}

void ls_begin(const struct ls_show *s)
{
	if (!s->json)
		return;
	printf("{\n\"uri\": ");
	ls_print_json(s->uri);
	printf(",\n\"entries\": [");
}

void ls_entry(struct ls_show *s, const char *name, uint64_t size)
{
	bool folder = ls_is_folder(name), known = !folder && size != LIST_SIZE_UNKNOWN;
	char text[UNITS_TEXT_BYTES] = "";

	if (s->json) {
		printf("%s\n  {\"name\": ", s->objects + s->folders ? "," : "");
		ls_print_json(name);
		if (known)
			printf(", \"size\": %" PRIu64 "}", size);
		else
			printf("%s}", folder ? "" : ", \"size\": null");
	} else {
		cli_pad_left(known    ? units_bytes_decimal(text, (double)size)
			     : folder ? ""
				      : "?",
			     SIZE_COLUMNS);
		printf("  ");
		ls_print_name(name);
	}
	s->folders += folder;
	s->objects += !folder;
	s->bytes += known ? size : 0;
	s->unsized += !known && !folder;
}

static void ls_end_json(const struct ls_show *s, bool more)
{
	printf("%s],\n\"objects\": %" PRIu64 ",\n\"folders\": %" PRIu64 ",\n\"bytes\": %" PRIu64
	       ",\n\"more\": %s\n}\n",
	       s->objects + s->folders ? "\n" : "", s->objects, s->folders, s->bytes,
	       more ? "true" : "false");
}

void ls_end(const struct ls_show *s, bool more)
{
	char bytes[UNITS_TEXT_BYTES], objects[UNITS_TEXT_BYTES], folders[UNITS_TEXT_BYTES];

	if (s->json) {
		ls_end_json(s, more);
		return;
	}
	if (!s->objects && !s->folders) {
		printf("the folder is empty\n");
		return;
	}
	cli_pad_left(units_bytes_decimal(bytes, (double)s->bytes), SIZE_COLUMNS);
	printf("  in %s object%s", units_count(objects, s->objects), s->objects == 1 ? "" : "s");
	if (s->folders)
		printf(", beside %s folder%s", units_count(folders, s->folders),
		       s->folders == 1 ? "" : "s");
	if (s->unsized)
		printf("; of %" PRIu64 " the size is not known", s->unsized);
	printf("%s\n", more ? "; there are more, --max shows them" : "");
}
