# SPDX-License-Identifier: Apache-2.0
# Packages: `cpack -G DEB` in the build folder, after the build, makes haul_VERSION_ARCH.deb for the release of Debian or Ubuntu
# on which it runs (the libraries that it needs bear other names on another one), `cpack -G TGZ` a tar file.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME haul)
set(CPACK_PACKAGE_VENDOR haul)
set(CPACK_PACKAGE_CONTACT "haul <haul@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION "Puts the I/O of AI training, checkpointing and inference onto a storage system, on any number
of MPI ranks, and tells whether the accelerators would have starved, by how much, and why.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# What the program is linked with, in the versions of this machine.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# What it opens at its first use (HaulLazy.cmake), too.
if(TARGET haul_needs)
	set(CPACK_HAUL_NEEDS ${PROJECT_BINARY_DIR}/libhaul_needs.so)
	set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/PackageNeeds.cmake)
endif()
# A run of several ranks needs mpiexec. That of MPICH cannot start an MPICH that is built for PMIx only, as in Ubuntu 24.04.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS mpich)
if("pmix" IN_LIST MPICH_LIBRARIES)
	set(CPACK_DEBIAN_PACKAGE_RECOMMENDS openmpi-bin)
endif()
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "man-db, hdf5-tools")
set(CPACK_STRIP_FILES ON)
include(CPack)
