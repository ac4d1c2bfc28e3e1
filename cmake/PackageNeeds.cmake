# SPDX-License-Identifier: Apache-2.0
# CPack reads this before it makes a package. The program names no library that it opens by itself, but libhaul_needs.so in the
# build folder names all of them: dpkg tells their packages and versions.
find_program(shlibdeps dpkg-shlibdeps)
if(CPACK_GENERATOR STREQUAL DEB AND shlibdeps)
	set(folder ${CPACK_PACKAGE_DIRECTORY}/_CPack_Packages/needs)
	file(WRITE ${folder}/debian/control "")
	execute_process(COMMAND ${shlibdeps} --ignore-missing-info -O ${CPACK_HAUL_NEEDS} WORKING_DIRECTORY ${folder}
		OUTPUT_VARIABLE said ERROR_VARIABLE why RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
	if(failed)
		message(FATAL_ERROR "dpkg-shlibdeps tells no packages of ${CPACK_HAUL_NEEDS}: ${why}")
	elseif(said MATCHES "shlibs:Depends=(.+)")
		set(CPACK_DEBIAN_PACKAGE_DEPENDS "${CMAKE_MATCH_1}")
	endif()
endif()
