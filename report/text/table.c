#include "report/text/table.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/units.h"

enum { NAME_COLUMNS = 24 };

unsigned text_width(const char *text)
{
	unsigned width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static void print_cell(FILE *out, const char *text, unsigned width, int left)
{
	int pad = (int)(width - text_width(text));

	if (left)
		fprintf(out, "%s%*s", text, pad, "");
	else
		fprintf(out, "%*s%s", pad, "", text);
}

void table_print(FILE *out, const struct table_row *rows, unsigned row_count, unsigned columns)
{
	unsigned width[TABLE_COLUMNS] = {0}, sum = 0, gap = 3;

	for (unsigned c = 0; c < columns; c++) {
		for (unsigned r = 0; r < row_count; r++) {
			unsigned w = text_width(rows[r].cell[c]);

			width[c] = w > width[c] ? w : width[c];
		}
		sum += width[c];
	}
	while (gap > 1 && sum + gap * (columns - 1) > REPORT_COLUMNS)
		gap--;
	for (unsigned r = 0; r < row_count; r++) {
		for (unsigned c = 0; c < columns; c++) {
			fprintf(out, "%*s", c ? (int)gap : 0, "");
			print_cell(out, rows[r].cell[c], width[c], c == 0);
		}
		fputc('\n', out);
	}
}

void table_figure(char cell[TABLE_CELL_BYTES], double value)
{
	char count[UNITS_TEXT_BYTES];

	if (!isfinite(value))
		strcpy(cell, "–");
	else if (value == 0)
		strcpy(cell, "0");
	else if (value > 0 && value < 0.0001)
		strcpy(cell, "<0.0001");
	else if (value < 0.0995)
		snprintf(cell, TABLE_CELL_BYTES, "%.2g", value);
	else if (value < 99.95)
		snprintf(cell, TABLE_CELL_BYTES, "%.*f", value < 9.995 ? 2 : 1, value);
	else
		snprintf(cell, TABLE_CELL_BYTES, "%s", units_count(count, (uint64_t)(value + 0.5)));
}

void table_time(char cell[TABLE_CELL_BYTES], uint64_t ns)
{
	char text[UNITS_TEXT_BYTES];

	snprintf(cell, TABLE_CELL_BYTES, "%s", units_time(text, (double)ns / 1e9));
}

void table_name(char cell[TABLE_CELL_BYTES], const char *name)
{
	size_t n = 0;

	if (text_width(name) <= NAME_COLUMNS && strlen(name) < TABLE_CELL_BYTES) {
		strcpy(cell, name);
		return;
	}
	for (unsigned columns = 0; name[n] && n < TABLE_CELL_BYTES - 8; n++) {
		columns += ((unsigned char)name[n] & 0xc0) != 0x80;
		if (columns == NAME_COLUMNS)
			break;
	}
	while (n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80)
		n--;
	snprintf(cell, TABLE_CELL_BYTES, "%.*s…", (int)n, name);
}

void text_wrap(FILE *out, const char *text, unsigned first, unsigned rest)
{
	unsigned column = first;
	bool begun = false;

	fprintf(out, "%*s", (int)first, "");
	while (*text) {
		size_t length = strcspn(text, " \n");
		unsigned width = 0;

		/* A figure and its sign stay together. */
		if (strncmp(text + length, " %", 2) == 0)
			length += 1 + strcspn(text + length + 1, " \n");
		for (size_t i = 0; i < length; i++)
			width += ((unsigned char)text[i] & 0xc0) != 0x80;
		if (begun && column + 1 + width > REPORT_COLUMNS) {
			fprintf(out, "\n%*s", (int)rest, "");
			column = rest;
		} else if (begun) {
			fputc(' ', out);
			column++;
		}
		begun = true;
		fwrite(text, 1, length, out);
		column += width;
		text += length;
		text += strspn(text, " \n");
	}
	fputc('\n', out);
}
