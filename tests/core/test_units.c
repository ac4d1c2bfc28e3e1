/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of units: sizes, times and rates are parsed, refused and printed. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/units.h"
#include "tests/unit.h"

typedef int parse_fn(const char *text, uint64_t *value, struct err *err);

struct accepted {
	parse_fn *parse;
	const char *text;
	uint64_t value;
};
struct refused {
	parse_fn *parse;
	const char *text, *sentence;
};

static void reads(void)
{
	static const struct accepted cases[] = {
		{units_parse_bytes, "4096 B", 4096},
		{units_parse_bytes, "140 MiB", 146800640},
		{units_parse_bytes, "1.5GB", 1500000000},
		{units_parse_bytes, "1 kB", 1000},
		{units_parse_bytes, "1 KB", 1000},
		{units_parse_bytes, "1   KiB", 1024},
		{units_parse_bytes, "0", 0},
		{units_parse_bytes, "3.0 B", 3},
		{units_parse_bytes, "0.1 GB", 100000000},
		{units_parse_bytes, "1.1 KiB", 1126},
		{units_parse_bytes, "18446744073709551615", UINT64_MAX},
		{units_parse_bytes, "9007199254740993", 9007199254740993u},
		{units_parse_bytes, "16 EB", 16000000000000000000u},
		{units_parse_bytes, "0.00000000000000001 TB", 0},
		{units_parse_time, "323 ms", 323000000},
		{units_parse_time, "5 us", 5000},
		{units_parse_time, "5 \xc2\xb5s", 5000},
		{units_parse_time, "2 h", 7200000000000},
		{units_parse_time, "1.5 min", 90000000000},
		{units_parse_time, "1 d", 86400000000000},
		{units_parse_time, "0.5 s", 500000000},
		{units_parse_time, "93.254 ms", 93254000},
		{units_parse_time, "0.1 s", 100000000},
		{units_parse_time, "7 ns", 7},
		{units_parse_time, "0.0000000015 s", 2},
		{units_parse_time, "0.0", 0},
		{units_parse_rate, "2 GB/s", 2000000000},
		{units_parse_rate, "500 B/s", 500},
		{units_parse_rate, "1 GiB/s", 1ull << 30},
	};
	struct err err;
	uint64_t value;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		value = 1;
		err.text[0] = '\0';
		if (cases[i].parse(cases[i].text, &value, &err) || value != cases[i].value) {
			fprintf(stderr, "\"%s\": %llu %s\n", cases[i].text,
				(unsigned long long)value, err.text);
			CU_FAIL("the value differs");
		}
	}
}

static void refuses(void)
{
#define BYTE_UNITS "known are B, kB, MB, GB, TB, PB, EB, KiB, MiB, GiB, TiB, PiB, EiB"
	static const struct refused cases[] = {
		{units_parse_bytes, "", "\"\" is not a size; write it as \"140 MiB\""},
		{units_parse_bytes, "MiB", "\"MiB\" is not a size; write it as \"140 MiB\""},
		{units_parse_bytes, ".5 GB", "\".5 GB\" is not a size; write it as \"140 MiB\""},
		{units_parse_bytes, "1. GB", "\"1. GB\" is not a size; write it as \"140 MiB\""},
		{units_parse_bytes, "nan", "\"nan\" is not a size; write it as \"140 MiB\""},
		{units_parse_bytes, "-5 MiB", "\"-5 MiB\" is not a size: it must not be negative"},
		{units_parse_bytes, "1.5 B", "\"1.5 B\" is not a whole number of bytes"},
		{units_parse_bytes, "512",
		 "\"512\" needs a unit; write it as \"512 GiB\" or \"512 MiB\""},
		{units_parse_time, "5", "\"5\" needs a unit; write it as \"5 s\" or \"5 ms\""},
		{units_parse_rate, "500",
		 "\"500\" needs a unit; write it as \"500 GB/s\" or \"500 MB/s\""},
		{units_parse_bytes, "5 GX",
		 "\"5 GX\" is not a size: unknown unit \"GX\"; " BYTE_UNITS},
		{units_parse_bytes, "5 GB/s",
		 "\"5 GB/s\" is not a size: unknown unit \"GB/s\"; " BYTE_UNITS},
		{units_parse_bytes, "5 mb",
		 "\"5 mb\" is not a size: unknown unit \"mb\"; " BYTE_UNITS},
		{units_parse_bytes, "5 MB ",
		 "\"5 MB \" is not a size: unknown unit \"MB \"; " BYTE_UNITS},
		{units_parse_bytes, "1e3",
		 "\"1e3\" is not a size: unknown unit \"e3\"; " BYTE_UNITS},
		{units_parse_bytes, "18446744073709551616",
		 "\"18446744073709551616\" is too large: a size must be below 2^64 bytes"},
		{units_parse_bytes, "99999999999999999999999999999999999999999 EB",
		 "\"99999999999999999999999999999999999999999 EB\" is too large: a size must be below 2^64 bytes"},
		{units_parse_time, "5 parsecs",
		 "\"5 parsecs\" is not a time: unknown unit \"parsecs\"; known are ns, us, ms, s, min, h, d"},
		{units_parse_time, "0.5 ns", "\"0.5 ns\" is not a whole number of nanoseconds"},
		{units_parse_time, "600 y",
		 "\"600 y\" is not a time: unknown unit \"y\"; known are ns, us, ms, s, min, h, d"},
		{units_parse_time, "300000 d",
		 "\"300000 d\" is too large: a time must be below 2^64 ns"},
		{units_parse_rate, "2 GB",
		 "\"2 GB\" is not a rate: unknown unit \"GB\"; known are B/s, kB/s, MB/s, GB/s, "
		 "TB/s, PB/s, EB/s, KiB/s, MiB/s, GiB/s, TiB/s, PiB/s, EiB/s"},
		{units_parse_rate, "fast", "\"fast\" is not a rate; write it as \"2 GB/s\""},
	};
	struct err err;
	uint64_t value;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		err.text[0] = '\0';
		value = 77;
		CU_ASSERT_EQUAL(cases[i].parse(cases[i].text, &value, &err), -EINVAL);
		CU_ASSERT_EQUAL(value, 77);
		if (strcmp(err.text, cases[i].sentence)) {
			fprintf(stderr, "found:    %s\nexpected: %s\n", err.text,
				cases[i].sentence);
			CU_FAIL("a different sentence");
		}
	}
}

struct printed {
	char *(*print)(char buf[UNITS_TEXT_BYTES], double v);
	double value;
	const char *text;
};

static void prints(void)
{
	static const struct printed cases[] = {
		{units_bytes_decimal, 630.5e12, "630.5 TB"},
		{units_bytes_decimal, 0, "0 B"},
		{units_bytes_decimal, 999, "999 B"},
		{units_bytes_decimal, 1000, "1 kB"},
		{units_bytes_decimal, 1234, "1.23 kB"},
		{units_bytes_decimal, 146600628, "146.6 MB"},
		{units_bytes_decimal, 999999, "1 MB"},
		{units_bytes_decimal, 1.2e12, "1.2 TB"},
		{units_bytes_decimal, 18446744073709551615.0, "18.4 EB"},
		{units_bytes_binary, 630.5e12, "573.4 TiB"},
		{units_bytes_binary, 3.1 * (1 << 30), "3.1 GiB"},
		{units_bytes_binary, 9 << 20, "9 MiB"},
		{units_bytes_binary, 212 << 10, "212 KiB"},
		{units_bytes_binary, 1023, "1023 B"},
		{units_bytes_binary, 1048575, "1 MiB"},
		{units_rate, 67.6e12, "67.6 TB/s"},
		{units_rate, 132.1e9, "132.1 GB/s"},
		{units_rate, INFINITY, "unlimited"},
		{units_rate, 0, "0 B/s"},
		{units_time, 9.3, "9.3 s"},
		{units_time, 0.412, "412 ms"},
		{units_time, 0.093254, "93.3 ms"},
		{units_time, 0.0051, "5.1 ms"},
		{units_time, 0.014, "14 ms"},
		{units_time, 76e-9, "76 ns"},
		{units_time, 0.9999e-3, "1 ms"},
		{units_time, 59.5, "59.5 s"},
		{units_time, 600, "10 min"},
		{units_time, 86400, "24 h"},
		{units_time, 864000, "10 d"},
		{units_time, 0, "0 s"},
		{units_time, NAN, "-"},
		{units_clock, 41, "0:41"},
		{units_clock, 59.6, "1:00"},
		{units_clock, 3599, "59:59"},
		{units_clock, 3661, "1:01:01"},
		{units_clock, 360000, "100:00:00"},
		{units_clock, -3, "0:00"},
		{units_short, 461e3, "461 k"},
		{units_short, 43008, "43 k"},
		{units_short, 1.12, "1.12"},
		{units_short, 345, "345"},
		{units_short, 999.7, "1 k"},
		{units_short, 4300800, "4.3 M"},
		{units_short, 0, "0"},
		{units_short, -1500, "-1.5 k"},
	};
	char buf[UNITS_TEXT_BYTES];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].print(buf, cases[i].value), cases[i].text)) {
			fprintf(stderr, "%g: \"%s\", expected \"%s\"\n", cases[i].value, buf,
				cases[i].text);
			CU_FAIL("a different text");
		}
	}
}

/* No value makes a printer exceed its buffer or print nothing. */
static void prints_anything(void)
{
	char *(*const print[])(char *, double) = {units_bytes_decimal, units_bytes_binary,
						  units_rate,          units_time,
						  units_clock,         units_short};
	double v;
	char buf[UNITS_TEXT_BYTES];
	size_t i;

	for (i = 0; i < 6; i++) {
		for (v = 1e-310; v < 1e308; v *= 7.3) {
			CU_ASSERT_TRUE(strlen(print[i](buf, v)) > 0);
			CU_ASSERT_TRUE(strlen(print[i](buf, -v)) > 0);
		}
	}
}

static void counts(void)
{
	char counted[UNITS_COUNTED_BYTES];
	char buf[UNITS_TEXT_BYTES];

	CU_ASSERT_STRING_EQUAL(units_counted(counted, 0, "sample"), "0 samples");
	CU_ASSERT_STRING_EQUAL(units_counted(counted, 1, "sample"), "1 sample");
	CU_ASSERT_STRING_EQUAL(units_counted(counted, 8400, "file"), "8,400 files");
	CU_ASSERT_STRING_EQUAL(units_count(buf, 0), "0");
	CU_ASSERT_STRING_EQUAL(units_count(buf, 999), "999");
	CU_ASSERT_STRING_EQUAL(units_count(buf, 1000), "1,000");
	CU_ASSERT_STRING_EQUAL(units_count(buf, 4300800), "4,300,800");
	CU_ASSERT_STRING_EQUAL(units_count(buf, UINT64_MAX), "18,446,744,073,709,551,615");
}

int main(void)
{
	CU_TestInfo tests[] = {{"reads", reads},   {"refuses", refuses},
			       {"prints", prints}, {"prints anything", prints_anything},
			       {"counts", counts}, CU_TEST_INFO_NULL};

	return unit_main("units", tests);
}
