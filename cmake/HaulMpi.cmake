# SPDX-License-Identifier: Apache-2.0
# Finds MPI and the parallel HDF5 that was built with it, and defines the targets haul_mpi and
# haul_hdf5.
#
# The order of the search lets the choice of a user or of a module precede the libraries of the
# system:
#   MPI   the compiler if it is itself a wrapper (CC=mpicc, Cray's cc); MPI_C_COMPILER or MPI_HOME;
#         the mpich of pkg-config if it belongs to the mpicc in PATH (Debian); whatever CMake's
#         FindMPI finds (MPICH, Cray MPICH, Intel MPI)
#   HDF5  the compiler again (cray-hdf5-parallel, CC=h5pcc); HDF5_ROOT or HDF5_DIR, as a variable or
#         in the environment; pkg-config; h5pcc in PATH
# A serial HDF5 is refused here with a message, before the compiler would fail on it.
#
# With -DHAUL_MPI=OFF, MPI is not searched for, and HDF5 must be serial, because a parallel one
# would need MPI. Results are then read but not written, and the verbs run, generate and clean
# refuse to run (ranks/run/absent.c).
include(CheckCSourceCompiles)

option(HAUL_MPI "Build run, generate and clean, which need MPI and a parallel HDF5" ON)

# Imported targets, because only those can be used in the trial compilations below.
add_library(haul_mpi INTERFACE IMPORTED GLOBAL)
add_library(haul_hdf5 INTERFACE IMPORTED GLOBAL)

set(uses_mpi "#include <mpi.h>
int main(int argc, char **argv) { return MPI_Init(&argc, &argv); }")
set(uses_parallel_hdf5 "#include <mpi.h>
#include <hdf5.h>
int main(void) { return H5Pset_fapl_mpio(H5Pcreate(H5P_FILE_ACCESS), MPI_COMM_WORLD, MPI_INFO_NULL) < 0; }")

set(uses_serial_hdf5 "#include <hdf5.h>
#ifdef H5_HAVE_PARALLEL
#error this HDF5 needs MPI
#endif
int main(void) { return H5open() < 0; }")

# haul_try(VARIABLE SOURCE target…) sets VARIABLE to whether SOURCE compiles and links with the
# targets.
function(haul_try variable source)
	set(CMAKE_REQUIRED_LIBRARIES ${ARGN})
	set(CMAKE_REQUIRED_QUIET ON)
	check_c_source_compiles("${source}" ${variable})
endfunction()

# haul_drop_absent(target SOURCE target…) takes away the libraries of a target of pkg-config that are not here, if SOURCE does
# not link with them. The mpich of Ubuntu 24.04 names the libraries with which MPICH itself is linked
# (pmix, ucp), although its package does not bring what is needed to link with those, and nothing that uses MPICH needs it.
function(haul_drop_absent target source)
	string(MAKE_C_IDENTIFIER "HAUL_LINKS_${target}" links)
	haul_try(${links} "${source}" ${target} ${ARGN})
	if(NOT ${links})
		get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
		list(FILTER libraries INCLUDE REGEX "^[-/]") # pkg_check_modules gives those that it found by their paths
		set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES ${libraries})
	endif()
endfunction()

# haul_follow_links(target) replaces libraries of a target of pkg-config by what their links lead to, where that is in a folder
# of the system. Debian has links to all kinds of HDF5 in folders of their own: a program would look there for each library.
function(haul_follow_links target)
	get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
	set(followed)
	foreach(library ${libraries})
		if(library MATCHES "^/.*\\.so$")
			get_filename_component(path ${library} REALPATH)
			get_filename_component(folder ${path} DIRECTORY)
			if(folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
				set(library ${path})
			endif()
		endif()
		list(APPEND followed ${library})
	endforeach()
	set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES ${followed})
endfunction()

# Sets the variable to whether pkg-config's mpich and mpicc have the same prefix. Otherwise the
# mpicc of a module would be combined with the headers of the system.
function(haul_mpich_is_of_path variable)
	set(${variable} FALSE PARENT_SCOPE)
	find_program(HAUL_MPICC NAMES mpicc.mpich mpicc)
	pkg_check_modules(MPICH QUIET mpich)
	if(MPICH_FOUND AND HAUL_MPICC)
		pkg_get_variable(prefix mpich prefix)
		get_filename_component(folder ${HAUL_MPICC} DIRECTORY)
		get_filename_component(folder ${folder} DIRECTORY)
		get_filename_component(folder ${folder} REALPATH)
		get_filename_component(prefix ${prefix} REALPATH)
		if(folder STREQUAL prefix)
			set(${variable} TRUE PARENT_SCOPE)
		endif()
	endif()
endfunction()

function(haul_find_mpi)
	haul_try(HAUL_COMPILER_HAS_MPI "${uses_mpi}")
	if(HAUL_COMPILER_HAS_MPI)
		set(HAUL_MPI_FROM "the compiler ${CMAKE_C_COMPILER}" PARENT_SCOPE)
		return()
	endif()
	if(NOT MPI_C_COMPILER AND NOT MPI_HOME AND NOT DEFINED ENV{MPI_HOME})
		haul_mpich_is_of_path(own)
		if(own)
			pkg_check_modules(MPICH QUIET REQUIRED IMPORTED_TARGET GLOBAL mpich)
			haul_drop_absent(PkgConfig::MPICH "${uses_mpi}")
			target_link_libraries(haul_mpi INTERFACE PkgConfig::MPICH)
			set(HAUL_MPI_FROM "MPICH ${MPICH_VERSION}, pkg-config" PARENT_SCOPE)
			return()
		endif()
	endif()
	find_package(MPI QUIET COMPONENTS C)
	if(NOT MPI_C_FOUND)
		message(FATAL_ERROR "haul needs MPI, and no mpicc, mpiicx or mpich of pkg-config was found: load an MPI module, "
			"or set -DMPI_C_COMPILER=/path/to/mpicc (docs/install.md)")
	endif()
	target_link_libraries(haul_mpi INTERFACE MPI::MPI_C)
	set(HAUL_MPI_FROM "${MPI_C_COMPILER}" PARENT_SCOPE)
endfunction()

# Finds HDF5 by CMake's FindHDF5, which looks for h5pcc first if HDF5 must be parallel.
macro(haul_find_hdf5_package)
	set(HDF5_PREFER_PARALLEL ${HAUL_MPI})
	find_package(HDF5 QUIET COMPONENTS C)
	if(HDF5_FOUND)
		target_link_libraries(haul_hdf5 INTERFACE hdf5::hdf5)
		set(HAUL_HDF5_FROM "${HDF5_VERSION}, ${HDF5_C_INCLUDE_DIRS}")
	endif()
endmacro()

# haul_find_hdf5(parallel|serial LIBRARIES MODULES…) finds one kind of HDF5. LIBRARIES are the targets
# that it needs, MODULES its names in pkg-config. Variables in the cache bear the kind, so that
# HAUL_MPI can be changed in a build folder.
macro(haul_find_hdf5 kind libraries)
	haul_try(HAUL_COMPILER_HAS_${kind}_HDF5 "${uses_${kind}_hdf5}" ${libraries})
	if(HAUL_COMPILER_HAS_${kind}_HDF5)
		set(HAUL_HDF5_FROM "the compiler ${CMAKE_C_COMPILER}")
	else()
		if(NOT HDF5_ROOT AND NOT DEFINED ENV{HDF5_ROOT} AND DEFINED ENV{HDF5_DIR})
			set(HDF5_ROOT $ENV{HDF5_DIR})
		endif()
		if(HDF5_ROOT OR DEFINED ENV{HDF5_ROOT})
			haul_find_hdf5_package()
		else()
			pkg_search_module(HDF5_${kind} QUIET IMPORTED_TARGET GLOBAL ${ARGN})
			if(HDF5_${kind}_FOUND)
				haul_drop_absent(PkgConfig::HDF5_${kind} "${uses_${kind}_hdf5}" ${libraries})
				haul_follow_links(PkgConfig::HDF5_${kind})
				target_link_libraries(haul_hdf5 INTERFACE PkgConfig::HDF5_${kind})
				set(HAUL_HDF5_FROM "${HDF5_${kind}_VERSION}, pkg-config's ${HDF5_${kind}_MODULE_NAME}")
			else()
				haul_find_hdf5_package()
			endif()
		endif()
	endif()
	if(HAUL_HDF5_FROM)
		haul_try(HAUL_HDF5_IS_${kind} "${uses_${kind}_hdf5}" haul_hdf5 ${libraries})
	endif()
endmacro()

macro(haul_find_parallel_hdf5)
	# Debian calls the module of the parallel build hdf5-mpich; sites with environment modules call
	# it hdf5.
	haul_find_hdf5(parallel haul_mpi hdf5-mpich hdf5-mpi hdf5)
	if(NOT HAUL_HDF5_FROM)
		message(FATAL_ERROR "haul needs parallel HDF5, and none was found: load a module (hdf5, cray-hdf5-parallel), "
			"install libhdf5-mpich-dev, or set -DHDF5_ROOT=/prefix (docs/install.md)")
	endif()
	if(NOT HAUL_HDF5_IS_parallel)
		unset(HAUL_HDF5_IS_parallel CACHE)
		message(FATAL_ERROR "haul needs a parallel HDF5 that was built with this MPI "
			"(${HAUL_MPI_FROM}), but this HDF5 is serial or was built with another MPI: "
			"${HAUL_HDF5_FROM}. Load its parallel module, set -DHDF5_ROOT=/prefix, or build "
			"without MPI by -DHAUL_MPI=OFF (docs/install.md)")
	endif()
endmacro()

macro(haul_find_serial_hdf5)
	haul_find_hdf5(serial "" hdf5-serial hdf5)
	if(NOT HAUL_HDF5_IS_serial)
		unset(HAUL_HDF5_IS_serial CACHE)
		message(FATAL_ERROR "haul without MPI (HAUL_MPI=OFF) needs a serial HDF5 to read results, and "
			"found \"${HAUL_HDF5_FROM}\". Install libhdf5-dev, or set -DHDF5_ROOT=/prefix "
			"(docs/install.md)")
	endif()
endmacro()

# Signals, polite waits and last words are made for MPICH and what descends from it (Cray MPICH, Intel MPI).
function(haul_refuse_open_mpi)
	haul_try(HAUL_MPI_IS_OPEN_MPI "#include <mpi.h>
#ifndef OPEN_MPI
#error another MPI
#endif
int main(void) { return 0; }" haul_mpi)
	if(HAUL_MPI_IS_OPEN_MPI)
		unset(HAUL_MPI_IS_OPEN_MPI CACHE)
		message(FATAL_ERROR "haul does not support Open MPI, which this is (${HAUL_MPI_FROM}): load a module of MPICH, Cray MPICH "
			"or Intel MPI, or set -DMPI_C_COMPILER=/path/to/mpicc of one of these (docs/install.md)")
	endif()
endfunction()

if(HAUL_MPI)
	haul_find_mpi()
	haul_refuse_open_mpi()
	haul_find_parallel_hdf5()
	haul_part("MPI" "${HAUL_MPI_FROM}")
	haul_part("parallel HDF5" "${HAUL_HDF5_FROM}")
else()
	haul_find_serial_hdf5()
	haul_part("run, generate, clean" "no, as asked (HAUL_MPI)")
	haul_part("serial HDF5" "${HAUL_HDF5_FROM}")
endif()
