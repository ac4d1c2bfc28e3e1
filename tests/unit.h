/* SPDX-License-Identifier: Apache-2.0 */
/* Main function of every unit test: one CUnit suite, run in basic mode; and CUnit's assertions,
 * which print both values. */
#ifndef HAUL_TESTS_UNIT_H
#define HAUL_TESTS_UNIT_H

#include <CUnit/CUnit.h>
#include <stdbool.h>

/* Runs the tests (ended by CU_TEST_INFO_NULL) as one suite: all, or those whose names are arguments
 * of the program. With the argument --list, prints their names instead. A test that hangs for two
 * minutes is named, and ends the program. Returns the exit status of main: 0, or 1 when a test
 * failed. Call it once per process. */
int unit_main(const char *suite, const CU_TestInfo *tests);

/* Whether a test with MATRIX runs all of its cases (ctest --preset long) and not only those that
 * run after every change. */
bool unit_full(void);

/* A value that an assertion prints. */
struct unit_value {
	enum { UNIT_SIGNED, UNIT_UNSIGNED, UNIT_REAL, UNIT_ADDRESS, UNIT_TEXT } kind;
	union {
		long long i;
		unsigned long long u;
		double d;
		const volatile void *p;
		const char *s;
	};
};

struct unit_value unit_signed(long long i);
struct unit_value unit_unsigned(unsigned long long u);
struct unit_value unit_real(double d);
struct unit_value unit_address(const volatile void *p);
struct unit_value unit_text(const char *s);

/* Counts one assertion of CUnit. If it does not hold, its message is the expression with both
 * values. */
void unit_compare(bool holds, struct unit_value actual, struct unit_value expected, unsigned line,
		  const char *text, const char *file, bool fatal);

/* clang-format off */
#define UNIT_VALUE(x) \
	_Generic((x), \
		bool: unit_unsigned, char: unit_signed, signed char: unit_signed, unsigned char: unit_unsigned, \
		short: unit_signed, unsigned short: unit_unsigned, int: unit_signed, unsigned: unit_unsigned, \
		long: unit_signed, unsigned long: unit_unsigned, long long: unit_signed, \
		unsigned long long: unit_unsigned, float: unit_real, double: unit_real, long double: unit_real, \
		default: unit_address)(x)

/* Each argument is evaluated once. A comparison of a signed with an unsigned value is CUnit's
 * own. */
#define UNIT_EQUAL(actual, expected, text, fatal) \
	do { \
		_Pragma("GCC diagnostic push") \
		_Pragma("GCC diagnostic ignored \"-Wsign-compare\"") \
		_Pragma("GCC diagnostic ignored \"-Wshadow\"") \
		__auto_type actual_ = (actual); \
		__auto_type expected_ = (expected); \
		unit_compare(actual_ == expected_, UNIT_VALUE(actual_), UNIT_VALUE(expected_), __LINE__, text, \
			     __FILE__, fatal); \
		_Pragma("GCC diagnostic pop") \
	} while (0)

#undef CU_ASSERT_EQUAL
#undef CU_ASSERT_EQUAL_FATAL
#undef CU_ASSERT_STRING_EQUAL
#undef CU_ASSERT_STRING_EQUAL_FATAL
#define CU_ASSERT_EQUAL(actual, expected) UNIT_EQUAL(actual, expected, #actual " == " #expected, false)
#define CU_ASSERT_EQUAL_FATAL(actual, expected) UNIT_EQUAL(actual, expected, #actual " == " #expected, true)
#define CU_ASSERT_STRING_EQUAL(actual, expected) \
	unit_compare_text(actual, expected, __LINE__, #actual " == " #expected, __FILE__, false)
#define CU_ASSERT_STRING_EQUAL_FATAL(actual, expected) \
	unit_compare_text(actual, expected, __LINE__, #actual " == " #expected, __FILE__, true)
/* clang-format on */

void unit_compare_text(const char *actual, const char *expected, unsigned line, const char *text,
		       const char *file, bool fatal);

#endif
