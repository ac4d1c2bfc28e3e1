# SPDX-License-Identifier: Apache-2.0
# Libraries that few runs need are opened when one of their functions is first called: `haul version` needs none of them, and
# of all ranks only those that write results need HDF5, which alone brings thirty others. haul_lazy(TARGETS…) makes the object
# library haul_lazy, which a program is linked with for that. It has a stand-in for each function of the libraries of TARGETS
# that the layers call, and the linker then leaves out the libraries, since nothing of them is missing.
#
# A library is linked as usual where there is nothing to open by its name (one of a compiler's own, such as Cray's cc, or a
# static one), or where programs use data of it that are larger than a number, as those of Open MPI are. So are all with
# HAUL_LAZY=OFF, and where the processor is another one than those for which there are stand-ins.
option(HAUL_LAZY "Open libraries that few runs need when they are first used" ON)

# haul_shared(INTO TARGET) sets INTO to the paths of the shared libraries of a target and of those that it names.
function(haul_shared into target)
	set(paths)
	get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
	foreach(library ${libraries})
		if(TARGET ${library})
			haul_shared(more ${library})
			list(APPEND paths ${more})
		elseif(library MATCHES "^/.*\\.so(\\.[0-9.]+)?$")
			list(APPEND paths ${library})
		endif()
	endforeach()
	set(${into} ${paths} PARENT_SCOPE)
endfunction()

function(haul_lazy)
	add_library(haul_lazy INTERFACE)
	string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" processor)
	if(NOT HAUL_LAZY OR NOT processor MATCHES "^(x86_64|amd64)$" OR NOT CMAKE_NM OR NOT CMAKE_READELF)
		return()
	endif()
	set(libraries)
	foreach(target ${ARGN})
		if(TARGET ${target})
			haul_shared(paths ${target})
			list(APPEND libraries ${paths})
		endif()
	endforeach()
	list(REMOVE_DUPLICATES libraries)
	get_property(layers GLOBAL PROPERTY HAUL_LAYERS)
	set(archives)
	foreach(layer ${layers})
		list(APPEND archives $<TARGET_FILE:${layer}>)
	endforeach()
	set(made ${HAUL_GENERATED}/lazy_stubs.c)
	set(list ${HAUL_GENERATED}/lazy_exports.txt)
	set(script ${PROJECT_SOURCE_DIR}/cmake/LazyStubs.cmake)
	set(source ${PROJECT_SOURCE_DIR}/cmake/lazy_stubs.c.in)
	add_custom_command(OUTPUT ${made} ${list}
		COMMAND ${CMAKE_COMMAND} "-DLIBRARIES=${libraries}" "-DARCHIVES=${archives}" "-DEXPORTS=ucp_worker_progress"
			-DNM=${CMAKE_NM} -DREADELF=${CMAKE_READELF} -DSOURCE=${source} -DOUT=${made} -DLIST=${list} -P ${script}
		DEPENDS ${script} ${source} ${layers}
		COMMENT "" VERBATIM)
	add_library(haul_stubs OBJECT ${made})
	# Code of the assembler is lost in what such compilers keep for the linker.
	target_compile_options(haul_stubs PRIVATE -fno-lto)
	# This one is linked with the libraries, and for packages only, which read there on what the program depends.
	add_library(haul_needs SHARED ${made})
	target_compile_definitions(haul_needs PRIVATE HAUL_NEEDS)
	target_compile_options(haul_needs PRIVATE -fno-lto)
	foreach(target ${ARGN})
		if(TARGET ${target})
			target_link_libraries(haul_needs PRIVATE ${target})
		endif()
	endforeach()
	set_target_properties(haul_needs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
	add_dependencies(haul_needs haul_stubs)
	add_dependencies(haul_lazy haul_needs)
	target_link_libraries(haul_lazy INTERFACE ${CMAKE_DL_LIBS})
	target_sources(haul_lazy INTERFACE $<TARGET_OBJECTS:haul_stubs>)
	target_link_options(haul_lazy INTERFACE LINKER:--as-needed LINKER:--dynamic-list=${list})
endfunction()
