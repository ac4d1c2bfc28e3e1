# Tests are declared where they stand, by one of three functions. A test that exits with 77 is
# skipped; every test has a time limit; a test whose figures depend on the clock says SERIAL.
#
#   haul_unit_test(measure/test_hist LIBS haul_core)    builds measure/test_hist.c with CUnit, adds test_hist
#   haul_mpi_test(test_group RANKS 4 LIBS haul_ranks)   builds it and runs it under mpiexec
#   haul_script_test(run_demo SCRIPT run_demo.py)       runs a script with the program in $HAUL
#
# Common options: SOURCES more.c…, ARGS…, TIMEOUT seconds, LABELS…, SERIAL. MPI tests: YIELD puts the
# yielding preload under ranks that outnumber the cores; RANKS may be a list, a test each. Scripts find
# in the environment HAUL (the program), HAUL_MPIEXEC, HAUL_YIELD (the preload), HAUL_SOURCE and
# HAUL_NPM (a folder with node_modules).

# Debian's python3-numpy and python3-h5py belong to Debian's own interpreter.
find_program(HAUL_PYTHON NAMES python3 HINTS /usr/bin REQUIRED)
# Readers and servers from npm: packaging/install-npm.sh puts them there.
find_program(HAUL_NODE NAMES node REQUIRED)
set(HAUL_NPM ${PROJECT_SOURCE_DIR}/build/npm)
set(HAUL_PROGRAM ${PROJECT_BINARY_DIR}/haul)
set(HAUL_YIELD ${PROJECT_BINARY_DIR}/libyield.so)
set(HAUL_TEST_ENVIRONMENT HAUL=${HAUL_PROGRAM} HAUL_MPIEXEC=${HAUL_MPIEXEC} HAUL_YIELD=${HAUL_YIELD}
	HAUL_SOURCE=${PROJECT_SOURCE_DIR} HAUL_NPM=${HAUL_NPM} HAUL_SANITIZED=$<BOOL:${HAUL_SANITIZE}>
	HDF5_USE_FILE_LOCKING=FALSE UBSAN_OPTIONS=print_stacktrace=1)

# Not a unit test's business: MPICH and UCX keep memory until the process ends, and a preload comes
# before the sanitizer's own library.
set(HAUL_MPI_ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0")

function(haul_test_properties test)
	if(NOT arg_TIMEOUT)
		set(arg_TIMEOUT 120)
	endif()
	set_tests_properties(${test} PROPERTIES TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77
		RUN_SERIAL "${arg_SERIAL}" LABELS "${arg_LABELS}")
endfunction()

function(haul_test_program name source)
	add_executable(${name} ${source}.c ${arg_SOURCES})
	target_link_libraries(${name} PRIVATE haul_unit ${arg_LIBS})
endfunction()

# What tests/virtual_time.c puts in the place of the C library's.
set(HAUL_VIRTUAL_TIME clock_gettime clock_nanosleep nanosleep sched_yield sem_wait sem_timedwait sem_clockwait sem_post
	pthread_mutex_lock pthread_cond_wait pthread_cond_clockwait pthread_cond_signal pthread_cond_broadcast
	pthread_create pthread_join syscall)

function(haul_unit_test source)
	get_filename_component(name ${source} NAME)
	cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL;YIELD;VIRTUAL_TIME" "TIMEOUT;SCRIPT" "SOURCES;LIBS;ARGS;LABELS;RANKS")
	list(APPEND arg_LABELS unit)
	haul_test_program(${name} ${source})
	if(arg_VIRTUAL_TIME)
		target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/virtual_time.c)
		list(TRANSFORM HAUL_VIRTUAL_TIME PREPEND "LINKER:--wrap=" OUTPUT_VARIABLE wrap)
		target_link_options(${name} PRIVATE ${wrap})
	endif()
	add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
	set_tests_properties(${name} PROPERTIES ENVIRONMENT "${HAUL_TEST_ENVIRONMENT}")
	haul_test_properties(${name})
endfunction()

function(haul_mpi_test source)
	get_filename_component(name ${source} NAME)
	cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL;YIELD" "TIMEOUT;SCRIPT" "SOURCES;LIBS;ARGS;LABELS;RANKS")
	list(APPEND arg_LABELS mpi)
	haul_test_program(${name} ${source})
	set(preload)
	if(arg_YIELD)
		set(preload -genv LD_PRELOAD ${HAUL_YIELD})
		add_dependencies(${name} yield)
	endif()
	foreach(ranks ${arg_RANKS})
		set(test ${name}_${ranks})
		add_test(NAME ${test} COMMAND ${HAUL_MPIEXEC} -n ${ranks} ${preload} $<TARGET_FILE:${name}> ${arg_ARGS})
		set_tests_properties(${test} PROPERTIES PROCESSORS 2
			ENVIRONMENT "${HAUL_TEST_ENVIRONMENT};${HAUL_MPI_ENVIRONMENT}")
		haul_test_properties(${test})
	endforeach()
endfunction()

function(haul_script_test name)
	cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL;YIELD" "TIMEOUT;SCRIPT" "SOURCES;LIBS;ARGS;LABELS;RANKS")
	list(APPEND arg_LABELS system)
	set(script ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SCRIPT})
	if(arg_SCRIPT MATCHES "\\.py$")
		set(script ${HAUL_PYTHON} -B ${script})
	elseif(arg_SCRIPT MATCHES "\\.mjs$")
		set(script ${HAUL_NODE} ${script})
	elseif(arg_SCRIPT MATCHES "\\.sh$")
		set(script bash ${script})
	endif()
	add_test(NAME ${name} COMMAND ${script} ${arg_ARGS})
	set_tests_properties(${name} PROPERTIES PROCESSORS 2
		ENVIRONMENT "${HAUL_TEST_ENVIRONMENT};${HAUL_MPI_ENVIRONMENT}")
	haul_test_properties(${name})
endfunction()
