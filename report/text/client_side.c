/* SPDX-License-Identifier: Apache-2.0 */
/* Client-side limits as text: a table with one row per phase for its busiest node, and
 * sentences. */
#include <math.h>
#include <stdlib.h>

#include "facts/text.h"
#include "report/client_side.h"
#include "report/text/page.h"

struct side_row {
	struct phase_row of;
	const char *host;
	struct client_means is;
	double in, out, cpu_per_gb;
};

static const struct column client_columns[] = {
	COLUMN(NAME, struct side_row, of.name, NULL, "client"),
	COLUMN(TEXT, struct side_row, host, NULL, "busiest node"),
	COLUMN(REAL, struct side_row, is.busy, NULL, "cores busy", .format = FORMAT_WHOLE),
	COLUMN(REAL, struct side_row, is.haul, NULL, "haul", .format = FORMAT_WHOLE),
	COLUMN(REAL, struct side_row, is.steal, NULL, "steal", .format = FORMAT_WHOLE),
	COLUMN(REAL, struct side_row, in, NULL, "net in", .format = FORMAT_RATE),
	COLUMN(REAL, struct side_row, out, NULL, "net out", .format = FORMAT_RATE),
	COLUMN(REAL, struct side_row, is.disk_read, NULL, "disk read", .format = FORMAT_RATE),
	COLUMN(REAL, struct side_row, is.disk_written, NULL, "disk write", .format = FORMAT_RATE),
	COLUMN(REAL, struct side_row, cpu_per_gb, NULL, "CPU s/GB"),
	COLUMNS_END};

/* RDMA ports and interfaces may count the same bytes (Slingshot), so this shows the larger of the
 * two. */
static struct side_row side_row_of(const struct results_file *f, const struct results_phase_read *p,
				   const struct client_side *c)
{
	struct side_row row = {.of = phase_row_of(f, p)};
	uint32_t busiest = 0;

	for (uint32_t i = 1; i < c->node_count; i++)
		if (c->nodes[i].whole.busy > c->nodes[busiest].whole.busy)
			busiest = i;
	row.is = c->nodes[busiest].whole;
	row.host = client_host(f, busiest);
	row.in = fmax(row.is.nic_in, row.is.rdma_in);
	row.out = fmax(row.is.nic_out, row.is.rdma_out);
	/* For a few bytes the figure means nothing. */
	row.cpu_per_gb =
		phase_bytes(p) >= 1e7 ? results_role_value(&p->merged, 0, ROLE_CPU_PER_BYTE) : NAN;
	return row;
}

static void side_sentences(struct page *page, const struct results_phase_read *p,
			   const struct client_side *c)
{
	char line[PHASE_NAME_BYTES + CLIENT_SENTENCE_BYTES + 2], name[PHASE_NAME_BYTES];

	phase_name(page->file, p, name);
	for (uint32_t i = 0; i < c->message_count; i++) {
		snprintf(line, sizeof(line), "%s: %s", name, c->message[i]);
		page_wrap(page, line);
	}
}

/* The sentences of all phases follow the table, so each phase is judged twice: the results of all
 * would take much memory. */
void text_client_side(struct page *page)
{
	const struct results_file *f = page->file;
	struct side_row *rows = calloc(f->phase_count + 1, sizeof(*rows));
	struct report_table table = {.columns = client_columns, TABLE_ROWS(rows, 0)};
	struct client_side c;

	for (uint32_t i = 0; rows && i < f->phase_count; i++) {
		if (!client_side_of(f, &f->phases[i], &c))
			continue;
		if (c.nodes[0].seconds >= client_shortest_s)
			rows[table.count++] = side_row_of(f, &f->phases[i], &c);
		client_side_free(&c);
	}
	if (table.count) {
		fputc('\n', page->out);
		text_table(page->out, &table);
	}
	free(rows);
	for (uint32_t i = 0; i < f->phase_count; i++) {
		if (!client_side_of(f, &f->phases[i], &c))
			continue;
		side_sentences(page, &f->phases[i], &c);
		client_side_free(&c);
	}
}
