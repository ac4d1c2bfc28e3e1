# SPDX-License-Identifier: Apache-2.0
# Optional dependencies: parts that haul can be built without. One line declares one part:
#
#   haul_optional(URING "engine uring of file://" liburing>=2.3)
#
# defines the option HAUL_URING (default ON) and looks for the pkg-config modules. If all of them
# are found, it sets HAVE_URING and defines the target PkgConfig::URING. HAVE_URING is used in two
# places only: in CMake, which selects the sources, and as a macro in backends/table.c, which lists
# the parts that are built in. The output of the configuration and of `haul version` shows the
# missing parts.
set(HAUL_PARTS)

function(haul_part label text)
	string(LENGTH "${label}" length)
	math(EXPR blanks "26 - ${length}")
	string(REPEAT " " ${blanks} blanks)
	set(HAUL_PARTS "${HAUL_PARTS};  ${label}${blanks}${text}" PARENT_SCOPE)
endfunction()

# Sets the variable to why the modules of a part do not suffice: which one is missing, or how old it is.
function(haul_optional_lack variable)
	set(lacks)
	foreach(need ${ARGN})
		string(REGEX REPLACE "[<>=].*" "" module "${need}")
		string(MAKE_C_IDENTIFIER "HAUL_LOOK_${need}" look)
		pkg_check_modules(${look} QUIET ${need})
		if(NOT ${look}_FOUND)
			string(MAKE_C_IDENTIFIER "HAUL_LOOK_${module}" any)
			pkg_check_modules(${any} QUIET ${module})
			if(${any}_FOUND)
				list(APPEND lacks "${need} (${${any}_VERSION} is here)")
			else()
				list(APPEND lacks "${need}")
			endif()
		endif()
	endforeach()
	list(JOIN lacks ", " lacks)
	set(${variable} "${lacks}" PARENT_SCOPE)
endfunction()

function(haul_optional name what)
	option(HAUL_${name} "Build ${what}" ON)
	set(HAVE_${name} FALSE PARENT_SCOPE)
	if(NOT HAUL_${name})
		haul_part("${what}" "no, as requested (HAUL_${name})")
	else()
		pkg_check_modules(${name} QUIET IMPORTED_TARGET GLOBAL ${ARGN})
		if(${name}_FOUND)
			set(HAVE_${name} TRUE PARENT_SCOPE)
			haul_part("${what}" "yes")
		else()
			haul_optional_lack(lacks ${ARGN})
			haul_part("${what}" "no: needs ${lacks}: see docs/install.md")
		endif()
	endif()
	set(HAUL_PARTS "${HAUL_PARTS}" PARENT_SCOPE)
endfunction()

# Prints the table of optional parts at the end of the configuration.
function(haul_say_parts)
	list(JOIN HAUL_PARTS "\n--   " text)
	message(STATUS "haul ${PROJECT_VERSION}:${text}")
endfunction()
