/* For people: did the accelerators starve, by how much, because of what; then the figures. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "report/accounts.h"
#include "report/report.h"
#include "report/series.h"
#include "report/text/client_side.h"
#include "report/text/plain_io.h"
#include "report/text/table.h"

enum { FAILURES_SHOWN = 3 };

struct page {
	FILE *out;
	bool color;
	const struct results_file *file;
};

/* A machine that is busier than that is named. */
#define STARVED_SHARE 0.02

static void head_line(const struct page *page);
static double starved_share(const struct results_phase_read *p);
static void utilisations(const struct page *page);
static bool series(const struct page *page);
static void phase_table(const struct page *page);
static void phase_notes(const struct page *page);
static void store_notes(const struct page *page);
static void last_line(const struct page *page);

char *report_text(const struct results_file *file, bool color)
{
	struct page page = {.color = color, .file = file};
	char *text = NULL;
	bool whole = true;
	size_t size;

	page.out = open_memstream(&text, &size);
	if (!page.out)
		return NULL;
	head_line(&page);
	if (file->runs > 1)
		whole = series(&page);
	else
		utilisations(&page);
	if (file->phase_count)
		phase_table(&page);
	if (file->phase_count && !series_long(file)) {
		client_side_print(page.out, file);
		plain_io_print(page.out, file);
	}
	phase_notes(&page);
	store_notes(&page);
	last_line(&page);
	if (fclose(page.out) == 0 && whole)
		return text;
	free(text);
	return NULL;
}

static bool series(const struct page *page)
{
	struct series_lines lines;
	bool whole = series_make(&lines, page->file);

	unsigned starved = 0;

	for (uint32_t i = 0; i < page->file->phase_count; i++)
		starved += starved_share(&page->file->phases[i]) > STARVED_SHARE;
	if (whole)
		series_text(page->out, page->file, &lines);
	if (starved)
		fprintf(page->out,
			"\nThis machine was busy in %u of %u phases: haul's threads were ready without a core.\n",
			starved, page->file->phase_count);
	series_free_lines(&lines);
	return whole;
}

static const char *paint(const struct page *page, const char *code)
{
	return page->color ? code : "";
}

#define BOLD  "\033[1m"
#define GREEN "\033[32m"
#define RED   "\033[31m"
#define PLAIN "\033[0m"

static void head_line(const struct page *page)
{
	const struct results_file *f = page->file;
	char ranks[UNITS_TEXT_BYTES], nodes[UNITS_TEXT_BYTES], time[UNITS_TEXT_BYTES];
	bool done = strcmp(f->status, "done") == 0;

	fprintf(page->out, "%s%s%s · %s rank%s on %s node%s · %s · %s%s%s\n", paint(page, BOLD),
		f->name, paint(page, PLAIN), units_count(ranks, f->ranks), f->ranks == 1 ? "" : "s",
		units_count(nodes, f->nodes), f->nodes == 1 ? "" : "s",
		units_time(time, f->seconds), paint(page, done ? GREEN : RED), f->status,
		paint(page, PLAIN));
	if (*f->error)
		text_wrap(page->out, f->error, 0, 0);
}

/* A percentage without a needless zero: 90 %, 92.5 %. */
static void percent(char *buf, size_t size, double fraction)
{
	double tenths = round(fraction * 1000);

	if (fmod(tenths, 10) == 0)
		snprintf(buf, size, "%.0f %%", tenths / 10);
	else
		snprintf(buf, size, "%.1f %%", tenths / 10);
}

static void add(char *buf, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void add(char *buf, size_t size, const char *format, ...)
{
	size_t n = strlen(buf);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(buf + n, size - n, format, arguments);
	va_end(arguments);
}

/* " (transfer 1.9, open 0.3)", the largest first. */
static void add_storage(char *buf, size_t size, const int tenths[ACCOUNTS])
{
	static const struct {
		int account;
		const char *name;
	} parts[] = {
		{ACCOUNT_OPEN, "open"},
		{ACCOUNT_FIRST_BYTE, "first byte"},
		{ACCOUNT_TRANSFER, "transfer"},
		{ACCOUNT_QUEUE, "queue"},
	};
	enum { PARTS = sizeof(parts) / sizeof(*parts) };
	bool message[PARTS] = {false};
	const char *before = " (";

	for (int n = 0; n < PARTS; n++) {
		int most = -1;

		for (int i = 0; i < PARTS; i++)
			if (!message[i] && tenths[parts[i].account] &&
			    (most < 0 || tenths[parts[i].account] > tenths[parts[most].account]))
				most = i;
		if (most < 0)
			break;
		message[most] = true;
		add(buf, size, "%s%s %.1f", before, parts[most].name,
		    tenths[parts[most].account] / 10.0);
		before = ", ";
	}
	add(buf, size, ")");
}

/* What was lost. The accounts hold the whole phase, AU leaves the warm-up out: where the two differ the
 * sentence says which it speaks of, unless that is a matter of rounding. */
static void lost_sentence(char *buf, size_t size, const struct results_phase_read *p, double au)
{
	struct accounts a;
	int tenths[ACCOUNTS], whole, beside_au, storage;
	const char *before = "";

	if (!accounts_of(p, &a))
		return;
	whole = accounts_lost(&a);
	beside_au = 1000 - (int)lround(au * 1000);
	if (abs(beside_au - whole) <= 1)
		whole = beside_au;
	if (whole <= 0)
		return;
	accounts_tenths(&a, whole, tenths);
	if (whole == beside_au)
		add(buf, size, "Of the %.1f %% lost: ", whole / 10.0);
	else
		add(buf, size,
		    "Of the whole phase, warm-up included, %.1f %% was lost: ", whole / 10.0);
	storage = tenths[ACCOUNT_OPEN] + tenths[ACCOUNT_FIRST_BYTE] + tenths[ACCOUNT_TRANSFER] +
		  tenths[ACCOUNT_QUEUE];
	if (storage) {
		add(buf, size, "%.1f %% waiting for storage", storage / 10.0);
		add_storage(buf, size, tenths);
		before = ", ";
	}
	if (tenths[ACCOUNT_RANKS]) {
		add(buf, size, "%s%.1f %% for the slowest rank", before,
		    tenths[ACCOUNT_RANKS] / 10.0);
		before = ", ";
	}
	if (tenths[ACCOUNT_DECODE]) {
		add(buf, size, "%s%.1f %% decode", before, tenths[ACCOUNT_DECODE] / 10.0);
		before = ", ";
	}
	if (tenths[ACCOUNT_COPY]) {
		add(buf, size, "%s%.1f %% copying to the accelerator", before,
		    tenths[ACCOUNT_COPY] / 10.0);
		before = ", ";
	}
	if (tenths[ACCOUNT_HAUL])
		add(buf, size, "%s%.1f %% haul", before, tenths[ACCOUNT_HAUL] / 10.0);
	add(buf, size, ".");
}

/* Of the time of the phase, how long haul's threads were ready without a core. */
static double starved_share(const struct results_phase_read *p)
{
	return results_value(&p->merged, 0, "runnable_ns") /
	       results_value(&p->merged, 0, "wall_sum_ns");
}

static void utilisation(const struct page *page, const struct results_phase_read *p, bool named)
{
	double au = results_value(&p->merged, 0, "au"), starved;
	char sentence[512] = "", target[32];
	bool met = au >= p->target_au;

	if (isnan(au))
		return;
	if (named)
		add(sentence, sizeof(sentence), "%s: ", p->name);
	add(sentence, sizeof(sentence), "The accelerators were busy %.1f %% of the time", au * 100);
	if (!isnan(p->target_au)) {
		percent(target, sizeof(target), p->target_au);
		add(sentence, sizeof(sentence), "; the target of %s is %s%s%s", target,
		    paint(page, met ? GREEN : RED), met ? "met" : "missed", paint(page, PLAIN));
	}
	add(sentence, sizeof(sentence), ".");
	text_wrap(page->out, sentence, 0, 0);
	sentence[0] = '\0';
	lost_sentence(sentence, sizeof(sentence), p, au);
	if (*sentence)
		text_wrap(page->out, sentence, 0, 0);
	sentence[0] = '\0';
	plain_io_sentence(page->file, p, sentence, sizeof(sentence));
	if (*sentence)
		text_wrap(page->out, sentence, 0, 0);
	if (p->null_au < 0.995)
		fprintf(page->out,
			"Without storage the same loop reaches %.1f %%: the rest is haul's own cost here.\n",
			p->null_au * 100);
	starved = starved_share(p);
	if (starved > STARVED_SHARE) {
		sentence[0] = '\0';
		add(sentence, sizeof(sentence),
		    "This machine was busy: for each second of the phase haul's threads were ready %.0f ms "
		    "without a core.",
		    starved * 1000);
		text_wrap(page->out, sentence, 0, 0);
	}
}

static void utilisations(const struct page *page)
{
	const struct results_file *f = page->file;
	unsigned utilised = 0;

	for (uint32_t i = 0; i < f->phase_count; i++)
		utilised += !isnan(results_value(&f->phases[i].merged, 0, "au"));
	for (uint32_t i = 0; i < f->phase_count; i++)
		utilisation(page, &f->phases[i], utilised > 1);
}

enum table_column {
	COL_PHASE,
	COL_SECONDS,
	COL_AU,
	COL_GB,
	COL_SAMPLES,
	COL_P50,
	COL_P99,
	COL_P999,
	COL_MAX,
	COL_ERRORS,
	COLS
};

static void table_phase(struct table_row *row, const struct results_file *f,
			const struct results_phase_read *p, const char *latency)
{
	char name[SERIES_PHASE_BYTES];
	const struct hist *h = results_find_hist(p, latency);
	double au = results_value(&p->merged, 0, "au");
	double bytes = results_value(&p->merged, 0, "bytes_read") +
		       results_value(&p->merged, 0, "bytes_written");
	double errors = results_value(&p->merged, 0, "errors");
	char count[UNITS_TEXT_BYTES];

	for (int c = 0; c < COLS; c++)
		strcpy(row->cell[c], "–");
	series_phase_name(f, p, name, sizeof(name));
	table_name(row->cell[COL_PHASE], name);
	snprintf(row->cell[COL_SECONDS], TABLE_CELL_BYTES, p->seconds < 0.95 ? "%.2f" : "%.1f",
		 p->seconds);
	if (!isnan(au))
		snprintf(row->cell[COL_AU], TABLE_CELL_BYTES, "%.1f %%", au * 100);
	table_figure(row->cell[COL_GB], bytes / p->seconds / 1e9);
	table_figure(row->cell[COL_SAMPLES], results_value(&p->merged, 0, "samples") / p->seconds);
	if (h) {
		table_time(row->cell[COL_P50], hist_quantile_ns(h, 0.5));
		table_time(row->cell[COL_P99], hist_quantile_ns(h, 0.99));
		table_time(row->cell[COL_P999], hist_quantile_ns(h, 0.999));
		table_time(row->cell[COL_MAX], h->max_ns);
	}
	snprintf(row->cell[COL_ERRORS], TABLE_CELL_BYTES, "%s",
		 units_count(count, isnan(errors) ? 0 : (uint64_t)errors));
}

/* One kind of latency heads the table: reads where anything was read, else the first phase's own. */
static const char *table_latency(const struct results_file *f)
{
	const char *latency = "";

	for (uint32_t i = 0; i < f->phase_count; i++) {
		if (results_find_hist(&f->phases[i], "read"))
			return "read";
		if (!*latency)
			latency = f->phases[i].main_hist;
	}
	return latency;
}

static void phase_table(const struct page *page)
{
	static const char *const headings[COLS] = {"phase", "seconds", "AU",    "GB/s", "samples/s",
						   "p50",   "p99",     "p99.9", "max",  "errors"};
	const struct results_file *f = page->file;
	struct table_row *rows;
	const char *latency = table_latency(f);

	if (series_long(f)) {
		fprintf(page->out, "\nhaul report --csv %s has a row for each of the %u phases.\n",
			f->path, f->phase_count);
		return;
	}
	rows = calloc(f->phase_count + 1, sizeof(*rows));
	if (!rows)
		return;
	for (int c = 0; c < COLS; c++)
		strcpy(rows[0].cell[c], headings[c]);
	if (f->runs > 1)
		strcpy(rows[0].cell[COL_PHASE], "run, phase");
	snprintf(rows[0].cell[COL_P50], TABLE_CELL_BYTES, "%.20s%sp50", latency,
		 *latency ? " " : "");
	for (uint32_t i = 0; i < f->phase_count; i++)
		table_phase(&rows[i + 1], f, &f->phases[i], latency);
	fputc('\n', page->out);
	table_print(page->out, rows, f->phase_count + 1, COLS);
	free(rows);
}

static void failure_line(const struct page *page, const struct failure *x)
{
	char line[1024];
	bool known = x->node < page->file->nodes;

	snprintf(line, sizeof(line), "rank %u%s%s: %.*s: %.*s (%.*s, %u attempt%s)", x->rank,
		 known ? " on " : "", known ? page->file->hosts[x->node] : "", FAILURE_OBJECT_BYTES,
		 x->object, FAILURE_TEXT_BYTES, x->text, (int)sizeof(x->operation), x->operation,
		 x->attempts, x->attempts == 1 ? "" : "s");
	text_wrap(page->out, line, 2, 6);
}

/* "train: failed; why; what it said". The file's own error stands at the head and is not repeated. */
static bool note_line(const struct page *page, const struct results_phase_read *p, char *line,
		      size_t size)
{
	const char *status = strcmp(p->status, "done") == 0    ? ""
			     : strcmp(p->status, "limit") == 0 ? "ended at its limit of time"
							       : p->status;
	/* Later runs of a series say what the first has said. */
	const char *parts[] = {status, strcmp(p->error, page->file->error) == 0 ? "" : p->error,
			       p->run > 1 ? "" : p->message};
	const char *before = ": ";
	bool any = false;

	series_phase_name(page->file, p, line, size);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (!*parts[i])
			continue;
		add(line, size, "%s%s", before, parts[i]);
		before = "; ";
		any = true;
	}
	return any;
}

/* In one line, or where that is too long a line a clause. */
static void print_note(const struct page *page, char *line)
{
	unsigned indent = 0;
	char *end;

	for (; indent + text_width(line) > REPORT_COLUMNS && (end = strstr(line, "; "));
	     line = end + 2) {
		*end = '\0';
		text_wrap(page->out, line, indent, 2);
		indent = 2;
	}
	text_wrap(page->out, line, indent, 2);
}

static void phase_notes(const struct page *page)
{
	char count[UNITS_TEXT_BYTES], line[2048], name[SERIES_PHASE_BYTES];
	const char *before = "\n";

	for (uint32_t i = 0; i < page->file->phase_count; i++) {
		const struct results_phase_read *p = &page->file->phases[i];

		if (note_line(page, p, line, sizeof(line))) {
			fputs(before, page->out);
			before = "";
			print_note(page, line);
		}
		if (!p->failure_count)
			continue;
		series_phase_name(page->file, p, name, sizeof(name));
		fprintf(page->out, "%s%s: %s request%s failed; the first:\n", before, name,
			units_count(count, p->failure_count), p->failure_count == 1 ? "" : "s");
		before = "";
		for (uint32_t k = 0; k < p->failure_rows && k < FAILURES_SHOWN; k++)
			failure_line(page, &p->failures[k]);
	}
}

/* Where a store is not used as the job asks. */
static void store_notes(const struct page *page)
{
	const struct results_file *f = page->file;
	char line[sizeof(struct store_facts)], on[64];
	const char *before = "\n";

	for (uint64_t i = 0; i < f->store_count; i++) {
		const struct store_facts *s = &f->stores[i];

		if (!*s->note)
			continue;
		on[0] = '\0';
		if (s->nodes < f->nodes)
			snprintf(on, sizeof(on), " on %llu of %llu nodes",
				 (unsigned long long)s->nodes, (unsigned long long)f->nodes);
		snprintf(line, sizeof(line), "store %.*s%s: %.*s", (int)sizeof(s->name) - 1,
			 s->name, on, (int)sizeof(s->note) - 1, s->note);
		fputs(before, page->out);
		before = "";
		text_wrap(page->out, line, 0, 2);
	}
}

static void last_line(const struct page *page)
{
	const struct results_file *f = page->file;
	char size[UNITS_TEXT_BYTES], head[4200], look[8400];
	const char *gap = "   ";

	snprintf(head, sizeof(head), "%s (%s)", f->path,
		 units_bytes_binary(size, (double)f->file_bytes));
	snprintf(look, sizeof(look), "look: haul report %s   h5dump -d /summary %s", f->path,
		 f->path);
	if (text_width(head) + 3 + text_width(look) > REPORT_COLUMNS)
		gap = "\n";
	fprintf(page->out, "\n%s%s%s\n", head, gap, look);
}
