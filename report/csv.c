/* A row a phase. Text is quoted by RFC 4180's rules; what is undefined is empty. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/accounts.h"
#include "report/report.h"

static void number(FILE *out, double value)
{
	if (isfinite(value))
		fprintf(out, ",%.9g", value);
	else
		fputc(',', out);
}

static void quoted(FILE *out, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

const char *report_csv_heading(void)
{
	return "file,name,started,ranks,nodes,number,phase,kind,status,seconds,au,au_min,au_max,null_au,"
	       "bytes_read,bytes_written,operations,errors,retries,samples,"
	       "compute_s,open_s,first_byte_s,transfer_s,queue_s,ranks_s,decode_s,copy_s,haul_s,"
	       "latency,p50_ns,p95_ns,p99_ns,p999_ns,p9999_ns,max_ns,run,combination,repeat,warmup,sweep\n";
}

static void latencies(FILE *out, const struct results_phase_read *p)
{
	static const double quantiles[] = {0.5, 0.95, 0.99, 0.999, 0.9999};
	const struct hist *h = results_find_hist(p, p->main_hist);

	fputc(',', out);
	if (!h) {
		fputs(",,,,,,", out);
		return;
	}
	quoted(out, p->main_hist);
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++)
		fprintf(out, ",%llu", (unsigned long long)hist_quantile_ns(h, quantiles[i]));
	fprintf(out, ",%llu", (unsigned long long)h->max_ns);
}

static void phase_row(FILE *out, const struct results_file *f, const struct results_phase_read *p)
{
	static const char *const counts[] = {"bytes_read", "bytes_written", "operations",
					     "errors",     "retries",       "samples"};
	struct spread au = spread_of(&p->ranks, "au");
	struct accounts accounts;
	bool kept = accounts_of(p, &accounts);

	quoted(out, f->path);
	fputc(',', out);
	quoted(out, f->name);
	fprintf(out, ",%s,%llu,%llu,%u,", f->started, (unsigned long long)f->ranks,
		(unsigned long long)f->nodes, p->number);
	quoted(out, p->name);
	fprintf(out, ",%s,%s", p->kind, p->status);
	number(out, p->seconds);
	number(out, au.mean);
	number(out, au.min);
	number(out, au.max);
	number(out, p->null_au);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		int column = results_column(&p->merged, counts[i]);

		if (column < 0)
			fputc(',', out);
		else
			fprintf(out, ",%llu", (unsigned long long)p->merged.cells[column].count);
	}
	for (int i = 0; i < ACCOUNTS; i++)
		number(out, kept ? accounts.seconds[i] : NAN);
	latencies(out, p);
	fprintf(out, ",%llu,%llu,%llu,%d,", (unsigned long long)p->run,
		(unsigned long long)p->combination, (unsigned long long)p->repeat, p->warmup);
	quoted(out, p->sweep);
	fputc('\n', out);
}

char *report_csv(const struct results_file *file)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (uint32_t i = 0; i < file->phase_count; i++)
		phase_row(out, file, &file->phases[i]);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
