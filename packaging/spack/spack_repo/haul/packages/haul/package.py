# SPDX-License-Identifier: Apache-2.0
# Spack recipe, in a repository of the layout v2 (Spack 1.0 and later), for a checkout of haul without a release:
#
#   spack repo add PATH/packaging/spack/spack_repo/haul
#   spack dev-build --source-path PATH haul@main
#
# The tests check its syntax, and that it knows each part that CMake knows; Spack has not run it yet.
from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Haul(CMakePackage):
    """Puts the I/O of AI training, checkpointing and inference onto a storage system, on any number of
    MPI ranks, and tells whether the accelerators would have starved, by how much, and why."""

    license("Apache-2.0")

    version("main")

    variant("mpi", default=True, description="haul run, generate and clean")
    variant("http", default=True, description="Object stores: s3://, az://, gs:// (libcurl, OpenSSL, expat)")
    variant("uring", default=True, description="The uring engine of file:// (io_uring)")
    variant("yaml", default=True, description="haul import dlio (libyaml)")
    variant("crypto", default=True, description="The comparability class of an import (libcrypto)")
    # Not every Spack has a recipe for libxlsxwriter.
    variant("xlsx", default=False, description="haul export --xlsx (libxlsxwriter)")
    variant("zstd", default=True, description="The operation log (--op-log)")

    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("hdf5@1.10: +mpi", when="+mpi")
    depends_on("hdf5@1.10: ~mpi", when="~mpi")
    depends_on("hwloc@2.5:")
    depends_on("cjson")
    depends_on("isa-l")
    depends_on("curl@7.85: tls=openssl", when="+http")
    depends_on("openssl@3:", when="+http")
    depends_on("openssl@3:", when="+crypto")
    depends_on("expat", when="+http")
    depends_on("liburing@2.3:", when="+uring")
    depends_on("libyaml", when="+yaml")
    depends_on("libxlsxwriter", when="+xlsx")
    depends_on("zstd@1.4:", when="+zstd")

    def cmake_args(self):
        mpi = [self.define("MPI_C_COMPILER", self.spec["mpi"].mpicc)] if "+mpi" in self.spec else []
        parts = ("mpi", "http", "uring", "yaml", "crypto", "xlsx", "zstd")
        return (
            mpi
            + [self.define_from_variant("HAUL_" + part.upper(), part) for part in parts]
            + [
                self.define("HDF5_ROOT", self.spec["hdf5"].prefix),
                self.define("HAUL_TESTS", False),
                self.define("HAUL_BENCH", False),
                self.define("HAUL_WERROR", False),
            ]
        )
