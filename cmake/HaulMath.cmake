# SPDX-License-Identifier: Apache-2.0
# Arithmetic of floating point: NaN is what haul has where a value is not known, and reports compare numbers to the last digit.
# A compiler that is told that there are no NaN (-ffast-math, -Ofast, and Intel's compilers unless they are told otherwise)
# would lose it without a word. So these flags come after those of the user, and undo them; what cannot be undone is refused
# here, and by core/arithmetic.h where haul is built by other means.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)

if(CMAKE_C_COMPILER_ID STREQUAL "IntelLLVM")
	set(haul_math -fp-model=precise -fno-fast-math)
elseif(CMAKE_C_COMPILER_ID STREQUAL "Intel")
	set(haul_math -fp-model precise)
elseif(CMAKE_C_COMPILER_ID MATCHES "^(NVHPC|PGI)$")
	set(haul_math -Kieee)
else()
	set(haul_math)
	# A flag that stands for itself is not undone by -fno-fast-math.
	foreach(flag -fno-fast-math -fno-finite-math-only -fno-unsafe-math-optimizations -fno-associative-math
			-fno-reciprocal-math -fsigned-zeros -ffp-contract=off)
		string(MAKE_C_IDENTIFIER "HAUL_TAKES${flag}" takes)
		check_c_compiler_flag(${flag} ${takes})
		if(${takes})
			list(APPEND haul_math ${flag})
		endif()
	endforeach()
endif()
add_compile_options(${haul_math})
# Of the linker, -ffast-math asks for start-up code that sets small numbers to 0.
add_link_options(${haul_math})

string(JOIN " " CMAKE_REQUIRED_FLAGS ${haul_math})
file(READ ${CMAKE_CURRENT_LIST_DIR}/../core/arithmetic.h haul_arithmetic)
string(MD5 haul_flags "${CMAKE_C_COMPILER}${CMAKE_C_FLAGS}${CMAKE_REQUIRED_FLAGS}")
check_c_source_compiles("${haul_arithmetic}
int main(void) { return 0; }" HAUL_KNOWS_NAN_${haul_flags})
unset(CMAKE_REQUIRED_FLAGS)
if(NOT HAUL_KNOWS_NAN_${haul_flags})
	message(FATAL_ERROR "These flags tell the compiler that no number is NaN, which haul needs for what is not known: "
		"${CMAKE_C_FLAGS}. Configure without -ffast-math, -Ofast and -ffinite-math-only.")
endif()
