# SPDX-License-Identifier: Apache-2.0
# Layers: each folder of a layer is one library. haul_layer(core) makes the target haul_core from
# all source files below the folder in which it is called. A new file needs no line here; CMake
# looks for files at each build.
#
#   haul_layer(core)
#   haul_layer(backends WITHOUT file/uring.c http/)     paths below the folder; one that ends in / is a folder
#
# Each room, which is one folder, compiles as one unit: most of the compiler's time goes to starts of processes and to the
# same headers again and again. With HAUL_UNITY=OFF each file is a unit of its own, which suits work on one file.
option(HAUL_UNITY "Compile each folder as one unit" ON)

# haul_room(INTO SOURCE) sets INTO to the folder of a source below the source tree.
function(haul_room into source)
	get_filename_component(path ${source} ABSOLUTE)
	file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${path})
	get_filename_component(folder ${path} DIRECTORY)
	set(${into} ${folder} PARENT_SCOPE)
endfunction()

# haul_unity(TARGET SOURCES…) makes one unit of those sources of the target that are in one folder.
function(haul_unity target)
	foreach(source ${ARGN})
		haul_room(room ${source})
		string(MAKE_C_IDENTIFIER "${room}" room)
		set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${room})
	endforeach()
	set_target_properties(${target} PROPERTIES UNITY_BUILD ${HAUL_UNITY} UNITY_BUILD_MODE GROUP)
endfunction()

# A request spends its time in core and backends, a simulation in its own layer. gcc optimises the other layers with fewer passes, which
# takes 40 % less of its time; a training on null:// needs 0 to 3 % more. gcc then knows less about the lengths of texts, and warns of
# some that fit; the tests, and files that are units of their own, which other tools read, compile with all passes and all warnings.
set(HAUL_FEWER_PASSES "")
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND HAUL_UNITY)
	set(HAUL_FEWER_PASSES "$<$<CONFIG:Release>:-O1;-fstrict-aliasing;-finline-small-functions;-fpartial-inlining;-Wno-format-truncation>")
endif()

function(haul_layer name)
	cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "WITHOUT")
	file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.c)
	foreach(path ${arg_WITHOUT})
		if(path MATCHES "/$")
			list(FILTER sources EXCLUDE REGEX "^${path}")
		else()
			list(REMOVE_ITEM sources ${path})
		endif()
	endforeach()
	add_library(haul_${name} STATIC ${sources})
	haul_unity(haul_${name} ${sources})
	if(NOT name MATCHES "^(core|backends|io|tiers|simulate)$")
		target_compile_options(haul_${name} PRIVATE ${HAUL_FEWER_PASSES})
	endif()
	set_property(GLOBAL APPEND PROPERTY HAUL_LAYERS haul_${name})
endfunction()
