/* SPDX-License-Identifier: Apache-2.0 */
/* Key-value caches as a workbook with the sheets of their benchmark. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xlsxwriter.h>

#include "core/json_path.h"
#include "report/cache.h"
#include "report/mlperf/leaf.h"

/* A sheet, and the row that is written next. */
struct sheet {
	lxw_worksheet *to;
	lxw_row_t row;
};

static void put_text(struct sheet *s, unsigned column, const char *text)
{
	worksheet_write_string(s->to, s->row, (lxw_col_t)column, text, NULL);
}

static void put_number(struct sheet *s, unsigned column, double value)
{
	if (isfinite(value))
		worksheet_write_number(s->to, s->row, (lxw_col_t)column, value, NULL);
}

static void put_phase(struct sheet *s, const struct mlperf_phase *p)
{
	put_text(s, 0, p->phase->record.name);
	put_number(s, 1, (double)p->phase->record.run);
}

static void put_heads(struct sheet *s, const char *const *heads)
{
	for (unsigned i = 0; heads[i]; i++)
		put_text(s, i, heads[i]);
	s->row++;
}

/* A row for each run. */
static void put_summary(struct sheet *s, const struct mlperf_phase *p, const char *mark)
{
	static const char *const keys[] = {"requests", "tokens",           "hits",
					   "misses",   "entry_read_bytes", "entry_written_bytes"};

	put_phase(s, p);
	put_text(s, 2, json_text_at(p->tree, "job.model.name", ""));
	put_number(s, 3, json_number_at(p->tree, "job.users", 0));
	put_number(s, 4, json_number_at(p->tree, "job.duration", 0));
	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		char path[64];

		snprintf(path, sizeof(path), "result.measures.%s", keys[i]);
		put_number(s, 5 + i, json_number_at(p->tree, path, 0));
	}
	put_text(s, 11, mark);
	s->row++;
}

static void put_parameters(struct sheet *s, const struct mlperf_phase *p)
{
	const cJSON *key;

	cJSON_ArrayForEach(key, json_at(p->tree, "job"))
	{
		if (!cJSON_IsNumber(key) && !cJSON_IsString(key) && !cJSON_IsBool(key))
			continue;
		put_phase(s, p);
		put_text(s, 2, key->string);
		if (cJSON_IsString(key))
			put_text(s, 3, key->valuestring);
		else
			put_number(s, 3,
				   cJSON_IsNumber(key) ? key->valuedouble : cJSON_IsTrue(key));
		s->row++;
	}
}

static void put_metrics(struct sheet *s, const struct mlperf_phase *p)
{
	struct cache_figure figures[CACHE_FIGURES];
	unsigned count = cache_figures(p->phase, figures);

	for (unsigned i = 0; i < count; i++) {
		put_phase(s, p);
		put_text(s, 2, figures[i].name);
		put_text(s, 3, figures[i].unit);
		put_number(s, 4, figures[i].mlperf);
		put_number(s, 5, figures[i].haul);
		put_text(s, 6, figures[i].note);
		s->row++;
	}
}

static void put_qos(struct sheet *s, const struct mlperf_phase *p)
{
	const cJSON *class;

	cJSON_ArrayForEach(class, json_at(p->tree, "result.qos"))
	{
		put_phase(s, p);
		put_text(s, 2, json_text_at(class, "name", ""));
		put_number(s, 3, json_number_at(class, "requests", 0));
		put_number(s, 4, json_number_at(class, "target_p95_ns", 0) / 1e6);
		put_number(s, 5, json_number_at(class, "compliance", 0));
		s->row++;
	}
}

enum sheet_kind { SUMMARY, PARAMETERS, METRICS, QOS, SHEETS };

bool mlperf_workbook_built(void)
{
	return true;
}

int mlperf_workbook(const char *path, const struct mlperf_phase *phases, uint32_t count,
		    struct err *err)
{
	static const char *const names[SHEETS] = {"Summary", "Run Parameters",
						  "Performance Metrics", "QoS Metrics"};
	static const char *const heads[SHEETS][16] = {
		{"phase", "run", "model", "users", "duration_s", "requests", "tokens", "hits",
		 "misses", "entry_read_bytes", "entry_written_bytes", "haul"},
		{"phase", "run", "parameter", "value"},
		{"phase", "run", "metric", "unit", "as MLPerf counts", "haul", "note"},
		{"phase", "run", "class", "requests", "target_p95_ms", "compliance"}};
	static const char mark[] = "made by haul: no MLPerf result";
	lxw_doc_properties properties = {.title = (char *)(uintptr_t)mark};
	struct sheet sheets[SHEETS];
	lxw_workbook *book;
	lxw_error failed;
	bool any = false;

	for (uint32_t i = 0; i < count; i++)
		any |= phase_purpose(phases[i].phase) == PURPOSE_CACHE;
	if (!any)
		return err_set(err, -EINVAL, "--xlsx: the results have no key-value cache");
	if (access(path, F_OK) == 0)
		return err_set(err, -EEXIST, "%s: is there; name another file", path);
	book = workbook_new(path);
	if (!book)
		return err_set(err, -ENOMEM, "no memory for the workbook");
	workbook_set_properties(book, &properties);
	for (int i = 0; i < SHEETS; i++) {
		sheets[i] = (struct sheet){.to = workbook_add_worksheet(book, names[i])};
		put_heads(&sheets[i], heads[i]);
	}
	for (uint32_t i = 0; i < count; i++) {
		if (phase_purpose(phases[i].phase) != PURPOSE_CACHE)
			continue;
		put_summary(&sheets[SUMMARY], &phases[i], mark);
		put_parameters(&sheets[PARAMETERS], &phases[i]);
		put_metrics(&sheets[METRICS], &phases[i]);
		put_qos(&sheets[QOS], &phases[i]);
	}
	failed = workbook_close(book);
	return failed ? err_set(err, -EIO, "%s: %s", path, lxw_strerror(failed)) : 0;
}
