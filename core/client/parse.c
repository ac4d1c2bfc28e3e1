/* SPDX-License-Identifier: Apache-2.0 */
/* Parsers of /proc files: see source.h. */
#include "core/client/source.h"

#include <string.h>

#include "core/numbers.h"

/* /proc/diskstats counts sectors of this size, whatever the device's own size is. */
static const uint64_t sector_bytes = 512;

struct client_field {
	const char *at, *end;
};

static uint64_t client_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t client_times(uint64_t a, uint64_t b)
{
	return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* Removes the first whole line from the text. */
static bool piece_line(struct client_field *text, struct client_field *line)
{
	const char *end = text->at == text->end
				  ? NULL
				  : memchr(text->at, '\n', (size_t)(text->end - text->at));

	if (!end)
		return false;
	*line = (struct client_field){text->at, end};
	text->at = end + 1;
	return true;
}

static void skip_blanks(struct client_field *p)
{
	while (p->at < p->end && (*p->at == ' ' || *p->at == '\t'))
		p->at++;
}

static bool piece_number(struct client_field *p, uint64_t *value)
{
	skip_blanks(p);
	if (p->at == p->end || *p->at < '0' || *p->at > '9')
		return false;
	for (*value = 0; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
		*value = client_add(client_times(*value, 10), (uint64_t)(*p->at - '0'));
	return true;
}

/* Removes the first word, which ends at a blank. */
static struct client_field piece_word(struct client_field *p)
{
	struct client_field word;

	skip_blanks(p);
	word.at = p->at;
	while (p->at < p->end && *p->at != ' ' && *p->at != '\t')
		p->at++;
	word.end = p->at;
	return word;
}

static bool piece_text(struct client_field *p, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(p->end - p->at) < n || memcmp(p->at, text, n) != 0)
		return false;
	p->at += n;
	return true;
}

static bool client_names_have(const struct client_names *names, struct client_field word)
{
	size_t n = (size_t)(word.end - word.at);

	for (uint32_t i = 0; i < names->count; i++)
		if (strnlen(names->name[i], CLIENT_NAME_BYTES) == n &&
		    memcmp(names->name[i], word.at, n) == 0)
			return true;
	return false;
}

bool client_cores_has(const struct client_cores *cores, uint64_t core)
{
	const unsigned width = 8 * sizeof(cores->bits[0]);

	return core < CLIENT_CORES && cores->bits[core / width] >> core % width & 1;
}

/* Fields of a line of /proc/stat. The time of guests, which follows, is already part of user
 * time. */
enum {
	STAT_USER,
	STAT_NICE,
	STAT_SYSTEM,
	STAT_IDLE,
	STAT_IOWAIT,
	STAT_IRQ,
	STAT_SOFTIRQ,
	STAT_STEAL,
	STATS
};

static void stat_fields(struct client_field line, uint64_t tick_ns, uint64_t field[STATS])
{
	for (int i = 0; i < STATS; i++) {
		field[i] = 0;
		if (piece_number(&line, &field[i]))
			field[i] = client_times(field[i], tick_ns);
	}
}

static void stat_node(const uint64_t field[STATS], uint64_t reading[CLIENT_COLUMNS])
{
	reading[CLIENT_CPU_USER_NS] = client_add(field[STAT_USER], field[STAT_NICE]);
	reading[CLIENT_CPU_SYSTEM_NS] = field[STAT_SYSTEM];
	reading[CLIENT_CPU_IOWAIT_NS] = field[STAT_IOWAIT];
	reading[CLIENT_CPU_IRQ_NS] = field[STAT_IRQ];
	reading[CLIENT_CPU_SOFTIRQ_NS] = field[STAT_SOFTIRQ];
	reading[CLIENT_CPU_STEAL_NS] = field[STAT_STEAL];
	reading[CLIENT_CPU_IDLE_NS] = field[STAT_IDLE];
}

void client_parse_stat(const char *text, size_t length, uint64_t tick_ns,
		       const struct client_cores *cores, uint64_t reading[CLIENT_COLUMNS])
{
	struct client_field all = {text, text + length}, line;
	uint64_t field[STATS], core, total = 0, busy = 0;

	while (piece_line(&all, &line) && piece_text(&line, "cpu")) {
		bool node = line.at < line.end && *line.at == ' ';

		if (!node && (!piece_number(&line, &core) || !client_cores_has(cores, core)))
			continue;
		stat_fields(line, tick_ns, field);
		if (node) {
			stat_node(field, reading);
			continue;
		}
		for (int i = 0; i < STATS; i++) {
			total = client_add(total, field[i]);
			if (i != STAT_IDLE && i != STAT_IOWAIT)
				busy = client_add(busy, field[i]);
		}
	}
	reading[CLIENT_RANK_CORES_NS] = total;
	reading[CLIENT_RANK_CORES_BUSY_NS] = busy;
}

void client_parse_meminfo(const char *text, size_t length, uint64_t reading[CLIENT_COLUMNS])
{
	static const struct {
		const char *key;
		enum client_column column;
	} keys[] = {
		{"MemFree:", CLIENT_MEMORY_FREE_BYTES},
		{"MemAvailable:", CLIENT_MEMORY_AVAILABLE_BYTES},
		{"Cached:", CLIENT_CACHED_BYTES},
		{"Dirty:", CLIENT_DIRTY_BYTES},
		{"Writeback:", CLIENT_WRITEBACK_BYTES},
	};
	struct client_field all = {text, text + length}, line;
	bool available = false;
	uint64_t kib;

	while (piece_line(&all, &line))
		for (size_t i = 0; i < COUNT(keys); i++) {
			struct client_field rest = line;

			if (!piece_text(&rest, keys[i].key) || !piece_number(&rest, &kib))
				continue;
			reading[keys[i].column] = client_times(kib, 1024);
			available |= keys[i].column == CLIENT_MEMORY_AVAILABLE_BYTES;
		}
	if (!available)
		reading[CLIENT_MEMORY_AVAILABLE_BYTES] =
			client_add(reading[CLIENT_MEMORY_FREE_BYTES], reading[CLIENT_CACHED_BYTES]);
}

void client_parse_vmstat(const char *text, size_t length, uint64_t page_bytes,
			 uint64_t reading[CLIENT_COLUMNS])
{
	struct client_field all = {text, text + length}, line;
	uint64_t pages, threshold[2] = {0, 0};

	while (piece_line(&all, &line)) {
		if (piece_text(&line, "nr_dirty_threshold ") && piece_number(&line, &pages))
			threshold[0] = pages;
		else if (piece_text(&line, "nr_dirty_background_threshold ") &&
			 piece_number(&line, &pages))
			threshold[1] = pages;
	}
	if (threshold[0])
		reading[CLIENT_DIRTY_LIMIT_BYTES] =
			client_times(threshold[0] / 2 + threshold[1] / 2, page_bytes);
}

/* "  eth0: 123 …": bytes received are the first figure, bytes sent the ninth. */
void client_parse_net(const char *text, size_t length, const struct client_names *nics,
		      uint64_t reading[CLIENT_COLUMNS])
{
	struct client_field all = {text, text + length}, line;
	uint64_t in = 0, out = 0;

	while (piece_line(&all, &line)) {
		const char *colon = memrchr(line.at, ':', (size_t)(line.end - line.at));
		struct client_field name;
		uint64_t field[9];
		int n = 0;

		skip_blanks(&line);
		if (!colon || colon < line.at)
			continue;
		name = (struct client_field){line.at, colon};
		line.at = colon + 1;
		while (n < 9 && piece_number(&line, &field[n]))
			n++;
		if (n == 9 && name.end - name.at == 2 && memcmp(name.at, "lo", 2) == 0)
			reading[CLIENT_LOOPBACK_BYTES] = field[8];
		if (n < 9 || !client_names_have(nics, name))
			continue;
		in = client_add(in, field[0]);
		out = client_add(out, field[8]);
	}
	reading[CLIENT_NIC_IN_BYTES] = in;
	reading[CLIENT_NIC_OUT_BYTES] = out;
}

/* Fields: major, minor, name, then reads, merged, sectors read, ms, writes, merged, sectors
 * written. */
void client_parse_disks(const char *text, size_t length, const struct client_names *disks,
			uint64_t reading[CLIENT_COLUMNS])
{
	struct client_field all = {text, text + length}, line;
	uint64_t read = 0, written = 0;

	while (piece_line(&all, &line)) {
		struct client_field name;
		uint64_t field[7];
		int n = 0;

		if (!piece_number(&line, &field[0]) || !piece_number(&line, &field[1]))
			continue;
		name = piece_word(&line);
		while (n < 7 && piece_number(&line, &field[n]))
			n++;
		if (n < 7 || !client_names_have(disks, name))
			continue;
		read = client_add(read, client_times(field[2], sector_bytes));
		written = client_add(written, client_times(field[6], sector_bytes));
	}
	reading[CLIENT_DISK_READ_BYTES] = read;
	reading[CLIENT_DISK_WRITTEN_BYTES] = written;
}

void client_parse_pressure(const char *text, size_t length, enum client_column column,
			   uint64_t reading[CLIENT_COLUMNS])
{
	struct client_field all = {text, text + length}, line;
	uint64_t us;

	while (piece_line(&all, &line)) {
		if (!piece_text(&line, "some "))
			continue;
		while (line.at < line.end) {
			struct client_field word = piece_word(&line);

			if (piece_text(&word, "total=") && piece_number(&word, &us))
				reading[column] = client_times(us, 1000);
		}
	}
}

/* Whether a list such as "cpu,cpuacct" names "cpu". */
static bool lists_cpu(struct client_field list)
{
	while (list.at < list.end) {
		const char *comma = memchr(list.at, ',', (size_t)(list.end - list.at));
		const char *end = comma ? comma : list.end;

		if (end - list.at == 3 && memcmp(list.at, "cpu", 3) == 0)
			return true;
		list.at = comma ? comma + 1 : list.end;
	}
	return false;
}

/* A line is "0::/path" in version 2 of control groups and "5:cpu,cpuacct:/path" in version 1. Where
 * both are mounted, version 1 has the controller. */
bool client_parse_cgroup(const char *text, size_t length, char *path, size_t size, bool *old)
{
	struct client_field all = {text, text + length}, line;
	bool found = false;

	*old = false;
	while (!*old && piece_line(&all, &line)) {
		uint64_t number;
		const char *colon;
		size_t n;

		if (!piece_number(&line, &number) || !piece_text(&line, ":"))
			continue;
		colon = memchr(line.at, ':', (size_t)(line.end - line.at));
		if (!colon)
			continue;
		*old = lists_cpu((struct client_field){line.at, colon});
		if (!*old && (number != 0 || colon != line.at))
			continue;
		n = (size_t)(line.end - colon - 1);
		n = n < size ? n : size - 1;
		memcpy(path, colon + 1, n);
		path[n] = '\0';
		found = true;
	}
	return found;
}

void client_parse_throttled(const char *text, size_t length, uint64_t reading[CLIENT_COLUMNS])
{
	struct client_field all = {text, text + length}, line;
	uint64_t value;

	while (piece_line(&all, &line)) {
		if (piece_text(&line, "throttled_usec ") && piece_number(&line, &value))
			reading[CLIENT_CPU_THROTTLED_NS] = client_times(value, 1000);
		else if (piece_text(&line, "throttled_time ") && piece_number(&line, &value))
			reading[CLIENT_CPU_THROTTLED_NS] = value;
	}
}

bool client_parse_number(const char *text, size_t length, uint64_t *value)
{
	struct client_field all = {text, text + length};

	return piece_number(&all, value);
}
