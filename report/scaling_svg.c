/* SPDX-License-Identifier: Apache-2.0 */
/* The figure of a scaling table as SVG: see scaling_svg.h. */
#include "report/scaling_svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SVG_WIDTH = 960, SVG_HEIGHT = 420, PANEL_WIDTH = 380, PANEL_HEIGHT = 260, PANEL_TOP = 50 };
enum { PANELS = 2, COLORS = 6, LEGEND_STEP = 150, LEGEND_PER_LINE = 6, MARKS = 4 };

static const char *const colors[COLORS] = {"#0072b2", "#d55e00", "#007a59",
					   "#a8467e", "#1a1c1e", "#8a6d00"};
static const char *const titles[PANELS] = {"AU (%)", "GB/s per node"};

struct panel {
	FILE *out;
	int which, left;
	double least, most; /* of the numbers of nodes */
	double top;         /* of the values */
};

/* A value of the row: 0: its mean, 1 and 2: the ends of its interval. */
static double svg_value(const struct scaling_row *r, int which, int part)
{
	const struct stats *s = which == 0 ? &r->au : &r->bytes;
	double value = part == 0 ? s->mean : part == 1 ? s->low : s->high;

	return which == 0 ? 100 * value : value / (double)r->nodes / 1e9;
}

static double svg_x(const struct panel *p, double nodes)
{
	double span = log2(p->most) - log2(p->least);

	return p->left + (span > 0 ? (log2(nodes) - log2(p->least)) / span : 0.5) * PANEL_WIDTH;
}

static double svg_y(const struct panel *p, double value)
{
	return PANEL_TOP + (1 - value / p->top) * PANEL_HEIGHT;
}

static void svg_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '<' || *text == '&')
			fprintf(out, "&#%d;", *text);
		else if ((unsigned char)*text >= ' ')
			fputc(*text, out);
	}
}

static void svg_axes(const struct panel *p, const struct scaling *s)
{
	fprintf(p->out, "<text x=\"%d\" y=\"%d\" class=\"t\">%s</text>\n", p->left, PANEL_TOP - 16,
		titles[p->which]);
	for (int i = 0; i <= MARKS; i++) {
		double value = p->top * i / MARKS, y = svg_y(p, value);

		fprintf(p->out,
			"<path d=\"M%d %.1fh%d\" stroke=\"#ccc\"/><text x=\"%d\" y=\"%.1f\" "
			"text-anchor=\"end\">%.3g</text>\n",
			p->left, y, PANEL_WIDTH, p->left - 6, y + 4, value);
	}
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t k = 0;

		while (s->rows[k].nodes != s->rows[i].nodes)
			k++;
		if (k == i)
			fprintf(p->out,
				"<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%llu</text>\n",
				svg_x(p, (double)s->rows[i].nodes), PANEL_TOP + PANEL_HEIGHT + 18,
				(unsigned long long)s->rows[i].nodes);
	}
	fprintf(p->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">nodes</text>\n",
		p->left + PANEL_WIDTH / 2, PANEL_TOP + PANEL_HEIGHT + 38);
}

static void svg_line(const struct panel *p, const struct scaling *s, uint32_t series)
{
	const char *color = colors[series % COLORS];
	char move = 'M';

	fprintf(p->out, "<g stroke=\"%s\" fill=\"%s\"><path fill=\"none\" stroke-width=\"2\" d=\"",
		color, color);
	for (uint32_t i = 0; i < s->count; i++) {
		double value = svg_value(&s->rows[i], p->which, 0);

		if (s->rows[i].series != series || !isfinite(value))
			continue;
		fprintf(p->out, "%c%.1f %.1f", move, svg_x(p, (double)s->rows[i].nodes),
			svg_y(p, value));
		move = 'L';
	}
	fprintf(p->out, "\"/>");
	for (uint32_t i = 0; i < s->count; i++) {
		const struct scaling_row *r = &s->rows[i];
		double x = svg_x(p, (double)r->nodes), value = svg_value(r, p->which, 0);
		double low = svg_value(r, p->which, 1), high = svg_value(r, p->which, 2);

		if (r->series != series || !isfinite(value))
			continue;
		fprintf(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", x, svg_y(p, value));
		if (isfinite(low) && isfinite(high))
			fprintf(p->out, "<path d=\"M%.1f %.1fV%.1fm-4 0h8M%.1f %.1fh8\"/>", x,
				svg_y(p, low), svg_y(p, high), x - 4, svg_y(p, low));
	}
	fprintf(p->out, "</g>\n");
}

static void svg_panel(FILE *out, const struct scaling *s, int which)
{
	struct panel p = {.out = out,
			  .which = which,
			  .left = which == 0 ? 60 : 540,
			  .least = INFINITY,
			  .most = 1};

	for (uint32_t i = 0; i < s->count; i++) {
		double high = svg_value(&s->rows[i], which, 2),
		       mean = svg_value(&s->rows[i], which, 0);

		p.least = fmin(p.least, (double)s->rows[i].nodes);
		p.most = fmax(p.most, (double)s->rows[i].nodes);
		p.top = fmax(p.top, isfinite(high) ? high : isfinite(mean) ? mean : 0);
	}
	p.top = which == 0 ? 100 : p.top > 0 ? 1.05 * p.top : 1;
	svg_axes(&p, s);
	for (uint32_t i = 0; i < s->series; i++)
		svg_line(&p, s, i);
	/* Every node as fast as on the fewest is a level line. */
	for (uint32_t i = 0; i < s->count; i++)
		if ((i == 0 || s->rows[i].series != s->rows[i - 1].series) && which == 1 &&
		    isfinite(svg_value(&s->rows[i], 1, 0)))
			fprintf(out,
				"<path d=\"M%.1f %.1fH%d\" stroke=\"%s\" stroke-dasharray=\"4 4\"/>\n",
				svg_x(&p, (double)s->rows[i].nodes),
				svg_y(&p, svg_value(&s->rows[i], 1, 0)), p.left + PANEL_WIDTH,
				colors[s->rows[i].series % COLORS]);
}

static void svg_legend(FILE *out, const struct scaling *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct scaling_row *r = &s->rows[i];
		int x = 60 + (int)(r->series % LEGEND_PER_LINE) * LEGEND_STEP,
		    y = SVG_HEIGHT - 36 + (int)(r->series / LEGEND_PER_LINE) * 18;

		if (i > 0 && r->series == s->rows[i - 1].series)
			continue;
		fprintf(out,
			"<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%d\" y=\"%d\">",
			x, y - 10, colors[r->series % COLORS], x + 18, y);
		svg_text(out, r->way);
		for (int k = 0; k < 3; k++) {
			const char *more = k == 0   ? r->job_shown
					   : k == 1 ? r->phase_shown
						    : r->sweep;

			fputs(*more ? " " : "", out);
			svg_text(out, more);
		}
		fputs("</text>\n", out);
	}
}

char *scaling_svg(const struct scaling *s)
{
	int height = SVG_HEIGHT + (int)(s->series / LEGEND_PER_LINE) * 18;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\">\n"
		"<!-- Made by haul: scaling -->\n"
		"<style>text{font:13px sans-serif;fill:#222}.t{font-weight:bold}</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		SVG_WIDTH, height);
	for (int which = 0; which < PANELS; which++)
		svg_panel(out, s, which);
	svg_legend(out, s);
	fputs("</svg>\n", out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
