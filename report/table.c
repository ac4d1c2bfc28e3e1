#include "report/table.h"

#include <stdbool.h>
#include <string.h>

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
