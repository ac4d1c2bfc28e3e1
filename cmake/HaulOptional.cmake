# What haul also builds without. One line each:
#
#   haul_optional(URING "engine uring of file://" liburing>=2.3)
#
# gives the option HAUL_URING (ON), looks for the pkg-config modules, and where all are there sets HAVE_URING
# and makes the target PkgConfig::URING. HAVE_URING is asked for in CMake, which picks the sources, and as a
# preprocessor word in backends/table.c, which lists what there is; nowhere else. What is missing is said
# when configuring and by haul version.
set(HAUL_PARTS)

function(haul_part label text)
	string(LENGTH "${label}" length)
	math(EXPR blanks "26 - ${length}")
	string(REPEAT " " ${blanks} blanks)
	set(HAUL_PARTS "${HAUL_PARTS};  ${label}${blanks}${text}" PARENT_SCOPE)
endfunction()

function(haul_optional name what)
	option(HAUL_${name} "Build ${what}" ON)
	list(JOIN ARGN ", " needs)
	set(HAVE_${name} FALSE PARENT_SCOPE)
	if(NOT HAUL_${name})
		haul_part("${what}" "no, as asked (HAUL_${name})")
	else()
		pkg_check_modules(${name} QUIET IMPORTED_TARGET GLOBAL ${ARGN})
		if(${name}_FOUND)
			set(HAVE_${name} TRUE PARENT_SCOPE)
			haul_part("${what}" "yes")
		else()
			haul_part("${what}" "no: needs ${needs} (packaging/packages-*.txt name the packages)")
		endif()
	endif()
	set(HAUL_PARTS "${HAUL_PARTS}" PARENT_SCOPE)
endfunction()

# The short table at the end of configuring.
function(haul_say_parts)
	list(JOIN HAUL_PARTS "\n--   " text)
	message(STATUS "haul ${PROJECT_VERSION}:${text}")
endfunction()
