# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)

# Build identification: writes haul_build.h with the version, the commit ("+" follows it where the
# working tree differs from it) and the folders of the catalogue. It runs at each build; a file
# whose content does not change keeps its time, so nothing is compiled again. A tar file of git archive
# has the commit in commit.txt; what lies around its folder may be a repository of something else.
set(build unknown)
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/commit.txt hash LIMIT_COUNT 1)
if(hash MATCHES "^[0-9a-f]+$")
	string(SUBSTRING ${hash} 0 12 build)
endif()
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE}/.git)
	execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --short=12 HEAD
		OUTPUT_VARIABLE hash OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE rc)
	if(rc EQUAL 0)
		execute_process(COMMAND ${GIT} -C ${SOURCE} diff --quiet HEAD ERROR_QUIET RESULT_VARIABLE dirty)
		set(build ${hash})
		if(NOT dirty EQUAL 0)
			string(APPEND build "+")
		endif()
	endif()
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define HAUL_VERSION \"@VERSION@\"
#define HAUL_BUILD \"@build@\"
#define HAUL_CATALOG_SOURCE \"@SOURCE@/workloads/catalog\"
#define HAUL_CATALOG_INSTALLED \"@CATALOG_INSTALLED@\"
" @ONLY)
