# SPDX-License-Identifier: Apache-2.0
# Declaration of tests. The CMakeLists.txt of the folder of a test calls one of four functions:
#
#   haul_unit_test(measure/test_hist LIBS haul_core)    builds measure/test_hist.c with CUnit, adds test_hist
#   haul_mpi_test(test_group RANKS 4 LIBS haul_ranks)   builds it and runs it under mpiexec
#   haul_script_test(layers SCRIPT check_layers.py)     runs a script with the program in $HAUL
#   haul_system_test(faults)                            runs the functions test_… of test_faults.py
#
# The presets select tests by their labels (docs/testing.md). One label says which
# kind of test it is (unit, mpi, system, servers, fuzz, project). Further labels are
#
#   quick    runs after every change: unit tests, MPI tests of up to 8 ranks, fuzz targets, most of
#            project
#   timing   depends on the clock: no other test runs beside it, and it never runs under a sanitizer
#   long     need not run after every change
#   threads  runs under the thread sanitizer, too
#   sanitized  runs under the address sanitizer on every change, and by gcc in ./test.sh --long
#
# Every function takes ARGS…, TIMEOUT seconds, LABELS… and COST (the tests with the highest cost
# begin first). A unit test, an MPI test or a script with MATRIX runs a part of its cases, and runs
# all of them as a second test NAME_full with the label long (there HAUL_TEST_FULL is set and unit_full() is
# true). A unit test takes SOURCES more.c… and LIBS…. THREADS adds the label threads, VIRTUAL_TIME
# links tests/virtual_time.c, and MAY_SKIP allows the exit status 77 where the kernel lacks a
# feature. Nothing else is skipped: where a package or a server is missing, its tests fail.
#
# RANKS may be a list; each number of ranks is then a test of its own. Scripts find in the
# environment HAUL (the program), HAUL_MPIEXEC, HAUL_SOURCE and HAUL_NPM (a folder with node_modules).
#
# A time limit only ends a test that hangs. It must be long enough for a busy machine.

# Debian's own interpreter, because only it finds Debian's python3-numpy and python3-h5py.
find_program(HAUL_PYTHON NAMES python3 HINTS /usr/bin REQUIRED)
# Readers and servers from npm, which packaging/install-npm.sh installs.
find_program(HAUL_NODE NAMES node REQUIRED)
set(HAUL_NPM ${PROJECT_SOURCE_DIR}/build/npm)
set(HAUL_PROGRAM ${PROJECT_BINARY_DIR}/haul)
set(HAUL_TEST_ENVIRONMENT HAUL=${HAUL_PROGRAM} HAUL_MPIEXEC=${HAUL_MPIEXEC}
	HAUL_SOURCE=${PROJECT_SOURCE_DIR} HAUL_NPM=${HAUL_NPM} HAUL_SANITIZED=$<BOOL:${HAUL_SANITIZE}>
	HDF5_USE_FILE_LOCKING=FALSE UBSAN_OPTIONS=print_stacktrace=1
	PYTHONDONTWRITEBYTECODE=)
# For programs with MPI: MPICH and UCX keep memory until the process ends, so leaks are not
# reported; and a preload is loaded before the library of the sanitizer. All ranks are on one
# machine, so UCX need not open what would take it to others.
set(HAUL_MPI_ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0" UCX_TLS=self,posix
	UCX_WARN_UNUSED_ENV_VARS=n)

set(HAUL_TEST_FLAGS VIRTUAL_TIME MATRIX THREADS MAY_SKIP SPLIT)
set(HAUL_TEST_VALUES TIMEOUT SCRIPT COST)
set(HAUL_TEST_LISTS SOURCES LIBS ARGS LABELS RANKS)

macro(haul_test_arguments name)
	cmake_parse_arguments(arg "${HAUL_TEST_FLAGS}" "${HAUL_TEST_VALUES}" "${HAUL_TEST_LISTS}" ${ARGN})
	if(arg_UNPARSED_ARGUMENTS)
		message(FATAL_ERROR "test ${name}: unknown argument ${arg_UNPARSED_ARGUMENTS}")
	endif()
	if(NOT arg_TIMEOUT)
		set(arg_TIMEOUT 1800)
	endif()
endmacro()

# haul_test_properties(TEST LABELS… ENVIRONMENT…)
function(haul_test_properties test)
	cmake_parse_arguments(PARSE_ARGV 1 is "" "" "LABELS;ENVIRONMENT")
	set_tests_properties(${test} PROPERTIES LABELS "${is_LABELS}" TIMEOUT ${arg_TIMEOUT}
		ENVIRONMENT "${HAUL_TEST_ENVIRONMENT};${is_ENVIRONMENT}")
	if(arg_MAY_SKIP)
		set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77)
	endif()
	if("timing" IN_LIST is_LABELS)
		set_tests_properties(${test} PROPERTIES RUN_SERIAL TRUE COST -1) # they run last
	elseif(arg_COST)
		set_tests_properties(${test} PROPERTIES COST ${arg_COST})
	endif()
endfunction()

function(haul_test_program name source)
	add_executable(${name} ${source}.c ${arg_SOURCES})
	target_link_libraries(${name} PRIVATE haul_unit ${arg_LIBS})
endfunction()

# Functions of the C library that tests/virtual_time.c replaces.
set(HAUL_VIRTUAL_TIME clock_gettime clock_nanosleep nanosleep sched_yield sem_wait sem_timedwait sem_clockwait sem_post
	pthread_mutex_lock pthread_cond_wait pthread_cond_clockwait pthread_cond_signal pthread_cond_broadcast
	pthread_create pthread_join syscall)

function(haul_virtual_time target)
	list(TRANSFORM HAUL_VIRTUAL_TIME PREPEND "LINKER:--wrap=" OUTPUT_VARIABLE wrap)
	target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/virtual_time.c)
	target_link_options(${target} PRIVATE ${wrap})
endfunction()

# Builds what the preset asan runs. haul_other_tests() makes the target other_tests, which is everything else.
add_custom_target(sanitized_tests)
# Builds only the tests that run under the thread sanitizer.
add_custom_target(threads_tests)

function(haul_sanitized target)
	add_dependencies(sanitized_tests ${target})
	set_property(GLOBAL APPEND PROPERTY HAUL_SANITIZED ${target} sanitized_tests threads_tests)
endfunction()

# Sets the variable to all targets of a folder and the folders below it.
function(haul_targets folder into)
	get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
	get_property(below DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
	foreach(one ${below})
		haul_targets(${one} more)
		list(APPEND targets ${more})
	endforeach()
	set(${into} ${targets} PARENT_SCOPE)
endfunction()

function(haul_other_tests)
	haul_targets(${PROJECT_SOURCE_DIR} targets)
	get_property(sanitized GLOBAL PROPERTY HAUL_SANITIZED)
	list(REMOVE_ITEM targets ${sanitized})
	add_custom_target(other_tests)
	add_dependencies(other_tests ${targets})
endfunction()

# haul_changed(TARGET FOLDER PATHS…) is an object library of the rooms of those sources, whose paths are below the source
# tree. Of each file that is also below FOLDER, it takes the copy there. A program that is linked with the library takes
# these rooms in place of those in the layers.
function(haul_changed target folder)
	set(rooms)
	foreach(path ${ARGN})
		haul_room(room ${PROJECT_SOURCE_DIR}/${path})
		list(APPEND rooms ${room})
	endforeach()
	set(sources)
	set(layers)
	get_property(all GLOBAL PROPERTY HAUL_LAYERS)
	foreach(layer ${all} haul_cli)
		get_target_property(paths ${layer} SOURCES)
		get_target_property(from ${layer} SOURCE_DIR)
		list(FILTER paths EXCLUDE REGEX "^/")
		list(TRANSFORM paths PREPEND ${from}/)
		foreach(path ${paths})
			haul_room(room ${path})
			if(NOT room IN_LIST rooms)
				continue()
			endif()
			list(APPEND layers ${layer})
			file(RELATIVE_PATH below ${PROJECT_SOURCE_DIR} ${path})
			if(EXISTS ${folder}/${below})
				set(path ${folder}/${below})
			endif()
			get_property(parts SOURCE ${PROJECT_SOURCE_DIR}/${below} TARGET_DIRECTORY ${layer}
				     PROPERTY COMPILE_DEFINITIONS)
			if(parts)
				set_property(SOURCE ${path} PROPERTY COMPILE_DEFINITIONS "${parts}")
			endif()
			string(MAKE_C_IDENTIFIER "${room}" group)
			set_property(SOURCE ${path} PROPERTY UNITY_GROUP ${group})
			list(APPEND sources ${path})
		endforeach()
	endforeach()
	add_library(${target} OBJECT ${sources})
	set_target_properties(${target} PROPERTIES UNITY_BUILD ${HAUL_UNITY} UNITY_BUILD_MODE GROUP)
	target_include_directories(${target} BEFORE PRIVATE ${folder})
	if(NOT HAUL_SANITIZE)
		target_compile_options(${target} PRIVATE -O2) # as the layers: gcc warns of less than with -O1
	endif()
	list(REMOVE_DUPLICATES layers)
	foreach(layer ${layers})
		get_target_property(needs ${layer} LINK_LIBRARIES)
		target_link_libraries(${target} PRIVATE ${needs})
	endforeach()
endfunction()

# haul_one_more(PATH BEFORE ROW) writes a copy of the source at PATH (without its ending, if that is .c) below HAUL_ONE_MORE, for haul_changed: ROW stands before the
# row that begins with BEFORE: a test shows that one row is all that one more figure takes.
set(HAUL_ONE_MORE ${PROJECT_BINARY_DIR}/one_more)
function(haul_one_more path before row)
	if(NOT path MATCHES "\\.h$")
		string(APPEND path .c)
	endif()
	set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${path})
	file(READ ${PROJECT_SOURCE_DIR}/${path} source)
	string(REPLACE "${before}" "${row}${before}" more "${source}")
	if(more STREQUAL source)
		message(FATAL_ERROR "the rows in ${path} are not found")
	endif()
	file(CONFIGURE OUTPUT ${HAUL_ONE_MORE}/${path} CONTENT "${more}" @ONLY)
endfunction()

function(haul_unit_test source)
	haul_test_arguments(${ARGV})
	get_filename_component(name ${source} NAME)
	haul_test_program(${name} ${source})
	if(arg_VIRTUAL_TIME)
		haul_virtual_time(${name})
	endif()
	set(labels unit ${arg_LABELS})
	if(NOT "timing" IN_LIST labels)
		list(APPEND labels quick)
		if(NOT "simulation" IN_LIST labels)
			list(APPEND labels sanitized)
			haul_sanitized(${name})
		endif()
	endif()
	if(arg_THREADS)
		list(APPEND labels threads)
		add_dependencies(threads_tests ${name})
	endif()
	if(HAUL_SANITIZE STREQUAL "thread")
		target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/tsan_clockwait.c)
		target_link_options(${name} PRIVATE LINKER:--wrap=sem_clockwait)
	endif()
	add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
	haul_test_properties(${name} LABELS ${labels})
	if(arg_MATRIX)
		add_test(NAME ${name}_full COMMAND ${name} ${arg_ARGS})
		haul_test_properties(${name}_full LABELS unit long ENVIRONMENT HAUL_TEST_FULL=1)
	endif()
endfunction()

function(haul_mpi_test source)
	haul_test_arguments(${ARGV})
	get_filename_component(name ${source} NAME)
	haul_test_program(${name} ${source})
	foreach(ranks ${arg_RANKS})
		set(test ${name}_${ranks})
		set(labels mpi ${arg_LABELS})
		if(ranks LESS_EQUAL 8)
			list(APPEND labels quick)
		elseif(ranks GREATER_EQUAL 64)
			list(APPEND labels long)
		endif()
		add_test(NAME ${test} COMMAND ${HAUL_MPIEXEC} -n ${ranks} $<TARGET_FILE:${name}> ${arg_ARGS})
		haul_test_properties(${test} LABELS ${labels} ENVIRONMENT ${HAUL_MPI_ENVIRONMENT})
		if(arg_MATRIX)
			add_test(NAME ${test}_full COMMAND ${HAUL_MPIEXEC} -n ${ranks} $<TARGET_FILE:${name}> ${arg_ARGS})
			haul_test_properties(${test}_full LABELS mpi long ${arg_LABELS}
				ENVIRONMENT ${HAUL_MPI_ENVIRONMENT} HAUL_TEST_FULL=1)
		endif()
	endforeach()
endfunction()

# Sets the variable to the command that runs the script.
function(haul_script_command script into)
	if(script MATCHES "\\.py$")
		set(${into} ${HAUL_PYTHON} ${script} PARENT_SCOPE)
	elseif(script MATCHES "\\.mjs$")
		set(${into} ${HAUL_NODE} ${script} PARENT_SCOPE)
	else()
		set(${into} bash ${script} PARENT_SCOPE)
	endif()
endfunction()

function(haul_script_test name)
	haul_test_arguments(${ARGV})
	haul_script_command(${CMAKE_CURRENT_SOURCE_DIR}/${arg_SCRIPT} command)
	add_test(NAME ${name} COMMAND ${command} ${arg_ARGS})
	haul_test_properties(${name} LABELS ${arg_LABELS} ENVIRONMENT ${HAUL_MPI_ENVIRONMENT})
	if(arg_MATRIX)
		list(REMOVE_ITEM arg_LABELS quick)
		add_test(NAME ${name}_full COMMAND ${command} ${arg_ARGS})
		haul_test_properties(${name}_full LABELS ${arg_LABELS} long
			ENVIRONMENT ${HAUL_MPI_ENVIRONMENT} HAUL_TEST_FULL=1)
	endif()
endfunction()

# haul_system_test(NAME [SCRIPT …] [SPLIT] [SERVERS] [TRANSPORTS] [LOCK …] [ARGS …]): the test system_NAME runs the
# functions test_… of the script (test_NAME.py) that have no mark. With SPLIT each function is a
# test of its own, so that they can run in parallel. A mark of tests/system/haultest.py, on the line
# above a function, moves the function to another test:
#
#   @timing, @long   the function runs in system_NAME_timing or system_NAME_long, or, with both, in
#                    system_NAME_long_timing
#   @matrix          the function runs a part of its cases here, and all of them in
#                    system_NAME_full (long); with @timing, too, in system_NAME_timing and
#                    system_NAME_full_timing
#
# The label is system, or servers where the script starts servers. Of all tests with the same LOCK
# one runs at a time. With TRANSPORTS, what runs here runs once more with object stores on libcurl,
# as system_NAME_curl (long).
function(haul_system_test name)
	cmake_parse_arguments(PARSE_ARGV 1 arg "SPLIT;SERVERS;TRANSPORTS" "SCRIPT;TIMEOUT;COST;LOCK" "ARGS")
	if(NOT arg_SCRIPT)
		set(arg_SCRIPT test_${name}.py)
	endif()
	if(NOT arg_TIMEOUT)
		set(arg_TIMEOUT 1800)
	endif()
	set(kind system)
	if(arg_SERVERS)
		set(kind servers)
	endif()
	set(script ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SCRIPT})
	set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
	file(STRINGS ${script} lines ENCODING UTF-8 REGEX "^(@([a-z]+\\.)?(timing|long|matrix)$|def test_)")
	set(marks)
	foreach(line ${lines})
		if(line MATCHES "^@.*(timing|long|matrix)$")
			list(APPEND marks ${CMAKE_MATCH_1})
			continue()
		endif()
		string(REGEX MATCH "test_[A-Za-z0-9_]+" function "${line}")
		string(REPLACE "test_" "" short ${function})
		if("long" IN_LIST marks AND "timing" IN_LIST marks)
			list(APPEND tests_long_timing ${function})
		elseif("long" IN_LIST marks)
			list(APPEND tests_long ${function})
		elseif("timing" IN_LIST marks)
			list(APPEND tests_timing ${function})
		else()
			list(APPEND tests_curl ${function})
			if(arg_SPLIT)
				haul_system_entry(${name}_${short} "${function}" ${kind})
			else()
				list(APPEND tests_change ${function})
			endif()
		endif()
		if("matrix" IN_LIST marks AND "timing" IN_LIST marks)
			list(APPEND tests_full_timing ${function})
		elseif("matrix" IN_LIST marks)
			list(APPEND tests_full ${function})
		endif()
		set(marks)
	endforeach()
	haul_system_entry(${name} "${tests_change}" ${kind})
	if(arg_TRANSPORTS)
		haul_system_entry(${name}_curl "${tests_curl}" ${kind} long)
		set_tests_properties(system_${name}_curl PROPERTIES
				     ENVIRONMENT_MODIFICATION "HAUL_TEST_TRANSPORT=set:curl")
	endif()
	haul_system_entry(${name}_timing "${tests_timing}" ${kind} timing)
	haul_system_entry(${name}_long "${tests_long}" ${kind} long)
	haul_system_entry(${name}_long_timing "${tests_long_timing}" ${kind} long timing)
	haul_system_entry(${name}_full "${tests_full}" ${kind} long)
	haul_system_entry(${name}_full_timing "${tests_full_timing}" ${kind} long timing)
endfunction()

# Adds one test of haul_system_test, if it has functions.
function(haul_system_entry name functions)
	if(NOT functions)
		return()
	endif()
	haul_script_command(${script} command)
	add_test(NAME system_${name} COMMAND ${command} ${arg_ARGS} ${functions})
	set(full)
	if(name MATCHES "_full(_timing)?$")
		set(full HAUL_TEST_FULL=1)
	endif()
	haul_test_properties(system_${name} LABELS ${ARGN} ENVIRONMENT ${HAUL_MPI_ENVIRONMENT} ${full})
	if(arg_LOCK)
		set_tests_properties(system_${name} PROPERTIES RESOURCE_LOCK ${arg_LOCK})
	endif()
endfunction()
