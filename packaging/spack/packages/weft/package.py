# SPDX-License-Identifier: BSD-3-Clause
"""The Spack recipe of weft. packaging/spack is a Spack repository: see packaging/README.md."""
import os

from spack.package import *


class Weft(CMakePackage):
    """One-sided collectives on libfabric, as verified schedules of puts."""

    homepage = "https://localhost/weft"
    # The checkout that contains this recipe.
    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "..", ".."))
    license("BSD-3-Clause")

    version("main", branch="main")

    variant("tests", default=False, description="Build the tests")
    variant("perf", default=False, description="Build the programs of perf/")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type=("build", "test"))
    depends_on("libfabric@1.17:")
    depends_on("pmix@4:")
    depends_on("hwloc@2:")
    depends_on("fmt@9:")
    depends_on("boost", type="build")
    depends_on("cli11@2:", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("help2man", type="build")
    depends_on("googletest", type="build", when="+tests")

    generator("ninja")
    conflicts("%gcc@:11", msg="weft is written in C++20: GCC 12 or later")

    def cmake_args(self):
        # The Python package would be built for the system's Python, which is not Spack's.
        return [self.define_from_variant("WEFT_TESTS", "tests"), self.define_from_variant("WEFT_PERF", "perf"),
                self.define("WEFT_PYTHON", "OFF")]
