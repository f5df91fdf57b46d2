# SPDX-License-Identifier: BSD-3-Clause
# External dependencies of the library and the command. Debian 12 and 13 package all of them.

find_package(PkgConfig REQUIRED)
pkg_check_modules(PMIX REQUIRED IMPORTED_TARGET pmix>=4)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc>=2)
pkg_check_modules(FABRIC REQUIRED IMPORTED_TARGET libfabric>=1.17)
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW) # CMake 3.30 and later find Boost by Boost's own package files
endif()
find_package(Boost REQUIRED) # Boost.Math, headers only
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Threads REQUIRED)
