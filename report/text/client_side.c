/* Client-side limits as text: a table with one row per phase for its busiest node, and
 * sentences. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "report/client_side.h"
#include "report/phase.h"
#include "report/text/page.h"
#include "report/text/table.h"

enum side_column {
	SIDE_PHASE,
	SIDE_NODE,
	SIDE_BUSY,
	SIDE_HAUL,
	SIDE_STEAL,
	SIDE_NET_IN,
	SIDE_NET_OUT,
	SIDE_DISK_READ,
	SIDE_DISK_WRITTEN,
	SIDE_CPU_PER_GB,
	SIDES
};

static void share_cell(char to[TABLE_CELL_BYTES], double share)
{
	if (isfinite(share))
		snprintf(to, TABLE_CELL_BYTES, "%.0f %%", share * 100);
	else
		strcpy(to, "–");
}

static void rate_cell(char to[TABLE_CELL_BYTES], double bytes_per_second)
{
	if (bytes_per_second > 0)
		units_rate(to, bytes_per_second);
	else
		strcpy(to, isfinite(bytes_per_second) ? "0" : "–");
}

/* RDMA ports and interfaces may count the same bytes (Slingshot), so this shows the larger of the
 * two. */
static void side_row(struct table_row *row, const struct results_file *f,
		     const struct results_phase_read *p, const struct client_side *c)
{
	double bytes = phase_bytes(p);
	const struct client_means *m;
	char name[PHASE_NAME_BYTES];
	uint32_t busiest = 0;

	for (uint32_t i = 1; i < c->node_count; i++)
		if (c->nodes[i].whole.busy > c->nodes[busiest].whole.busy)
			busiest = i;
	m = &c->nodes[busiest].whole;
	phase_name(f, p, name);
	table_name(row->cell[SIDE_PHASE], name);
	table_name(row->cell[SIDE_NODE], client_host(f, busiest));
	share_cell(row->cell[SIDE_BUSY], m->busy);
	share_cell(row->cell[SIDE_HAUL], m->haul);
	share_cell(row->cell[SIDE_STEAL], m->steal);
	rate_cell(row->cell[SIDE_NET_IN], fmax(m->nic_in, m->rdma_in));
	rate_cell(row->cell[SIDE_NET_OUT], fmax(m->nic_out, m->rdma_out));
	rate_cell(row->cell[SIDE_DISK_READ], m->disk_read);
	rate_cell(row->cell[SIDE_DISK_WRITTEN], m->disk_written);
	/* For a few bytes the figure means nothing. */
	table_figure(row->cell[SIDE_CPU_PER_GB],
		     bytes >= 1e7 ? results_role_value(&p->merged, 0, ROLE_CPU_PER_BYTE) : NAN);
}

static void print_sentences(FILE *out, const struct results_file *f,
			    const struct results_phase_read *p, const struct client_side *c,
			    const char **before)
{
	char line[PHASE_NAME_BYTES + CLIENT_SENTENCE_BYTES + 2], name[PHASE_NAME_BYTES];

	phase_name(f, p, name);

	for (uint32_t i = 0; i < c->message_count; i++) {
		fputs(*before, out);
		*before = "";
		snprintf(line, sizeof(line), "%s: %s", name, c->message[i]);
		text_wrap(out, line, 0, 2);
	}
}

void text_client_side(const struct page *page)
{
	static const char *const headings[SIDES] = {
		"client", "busiest node", "cores busy", "haul",       "steal",
		"net in", "net out",      "disk read",  "disk write", "CPU s/GB"};
	const struct results_file *f = page->file;
	struct table_row *rows = calloc(f->phase_count + 1, sizeof(*rows));
	const char *before = "\n";
	unsigned count = 1;

	if (!rows)
		return;
	for (int i = 0; i < SIDES; i++)
		snprintf(rows[0].cell[i], TABLE_CELL_BYTES, "%s", headings[i]);
	for (uint32_t i = 0; i < f->phase_count; i++) {
		struct client_side c;

		if (!client_side_of(f, &f->phases[i], &c))
			continue;
		if (c.nodes[0].seconds >= client_shortest_s)
			side_row(&rows[count++], f, &f->phases[i], &c);
		client_side_free(&c);
	}
	if (count > 1) {
		fputc('\n', page->out);
		table_print(page->out, rows, count, SIDES);
	}
	for (uint32_t i = 0; i < f->phase_count; i++) {
		struct client_side c;

		if (!client_side_of(f, &f->phases[i], &c))
			continue;
		print_sentences(page->out, f, &f->phases[i], &c, &before);
		client_side_free(&c);
	}
	free(rows);
}
