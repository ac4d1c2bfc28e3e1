# SPDX-License-Identifier: Apache-2.0
# Layers: each folder of a layer is one library. haul_layer(core) makes the target haul_core from
# all source files below the folder in which it is called. A new file needs no line here; CMake
# looks for files at each build.
#
#   haul_layer(core)
#   haul_layer(backends WITHOUT file/uring.c http/)     paths below the folder; one that ends in / is a folder
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
endfunction()
