/* SPDX-License-Identifier: Apache-2.0 */
/* /phases/N_name/client: client-side measurements of the nodes. Its rows are written as blocks. */
#include "results-schema/phase.h"

static void write_axes(struct h5_writer *w, const struct merged_client *c)
{
	double *values = h5w_room(w, c->rows > c->nodes ? c->rows : c->nodes, sizeof(*values));

	if (!values)
		return;
	for (uint32_t i = 0; i < c->nodes; i++)
		values[i] = i;
	h5w_array(w, "node", H5T_NATIVE_DOUBLE, c->nodes, values, NULL);
	for (uint32_t i = 0; i < c->rows; i++)
		values[i] = (double)i * (double)c->interval_ns / 1e9;
	h5w_array(w, "time_s", H5T_NATIVE_DOUBLE, c->rows, values, "s");
}

static const char *const over_keys[] = {"time_ns", "nodes"};

static void write_stat(struct h5_writer *w, const struct client_over *over, enum client_stat stat)
{
	const struct row_shape shape = {over_keys, 2, &client_columns};
	size_t words = rows_words(&shape);
	uint64_t *rows = h5w_room(w, over->rows, words * sizeof(*rows));

	for (uint32_t i = 0; rows && i < over->rows; i++) {
		const uint64_t keys[] = {i * over->interval_ns, over->nodes[i]};

		rows_fill(&shape, keys, over->row[stat][i], rows + i * words);
	}
	rows_write(w, client_stat_names[stat], &shape, over->rows, rows);
	h5w_leave(w);
}

static void write_over(struct h5_writer *w, const struct client_over *over)
{
	h5w_group(w, "over_nodes");
	h5w_real(w, "interval_s", (double)over->interval_ns / 1e9);
	for (int i = 0; i < CLIENT_STATS; i++)
		write_stat(w, over, (enum client_stat)i);
	h5w_leave(w);
}

void phase_write_client(struct h5_writer *w, const struct merged_client *c)
{
	static const char *const axes[] = {"node", "time_s"};

	h5w_group(w, "client");
	h5w_nexus(w, &(struct nexus){.title = "how busy the cores of the ranks were",
				     .signal = "cores_busy",
				     .axes = axes,
				     .axis_count = 2});
	h5w_real(w, "interval_s", (double)c->interval_ns / 1e9);
	write_axes(w, c);
	if (c->over)
		write_over(w, c->over);
	h5w_leave(w);
}
