# SPDX-License-Identifier: BSD-3-Clause
# Debian packages, which `cpack` writes in the build folder of the package preset: libweft0 (needed to run programs),
# libweft-dev (headers, CMake and pkg-config files), weft (the command, its man pages and completion) and python3-weft
# (the Python package, if it is built). packaging/build runs all steps.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME weft)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
# Maintainer of the packages, from the variables that Debian's tools use.
set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
if("$ENV{DEBEMAIL}" STREQUAL "")
  set(maintainer "The weft authors <weft@example.org>")
endif()
set(CPACK_PACKAGE_CONTACT "${maintainer}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "one-sided collectives over libfabric")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL library development tools) # the layers for MPI are not packaged
set(packaged library:libweft0 development:libweft-dev tools:weft)
add_custom_target(weft_packaged)
add_dependencies(weft_packaged weft weft_library weft_shmem weft_fabric)
if(TARGET weft_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
  list(APPEND packaged python:python3-weft)
  add_dependencies(weft_packaged weft_python)
endif()
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(CPACK_COMPONENT_${upper}_GROUP ${component})
endforeach()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/bin) # location of libweft.so before its installation
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libweft0)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libweft-dev)
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME weft)
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-weft)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
set(own_version "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libweft0 ${own_version}")
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "libweft0 ${own_version}") # libweft0 has the network module
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "libweft0 ${own_version}, python3-numpy, ${WEFT_PYTHON_DEPENDS}")
set(summary "weft runs collectives as verified schedules of one-sided puts: between
nodes through libfabric, on a node straight through shared memory.")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION_SUMMARY} (library)\n${summary}\n.\nThis package has the library and its network module.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION_SUMMARY} (headers)\n${summary}\n.\nThis package has the headers for C99 and C++20, and files for CMake\nand pkg-config.")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION_SUMMARY} (command)\n${summary}\n.\nThis package has the launcher, the benchmark, the verifier and the simulator.")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION_SUMMARY} (Python)\n${summary}\n.\nThis package has the Python package, for numpy and torch.")

# Files that Debian requires in every package. The change log describes only the packaging.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(work ${CMAKE_BINARY_DIR}/packaging)
  file(MAKE_DIRECTORY ${work})
  file(READ ${CMAKE_SOURCE_DIR}/LICENSE license)
  string(REPLACE "\n\n" "\n.\n" license "${license}")
  string(REGEX REPLACE "\n$" "" license "${license}")
  string(REPLACE "\n" "\n " license "${license}")
  file(WRITE ${work}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: weft\n\nFiles: *\nCopyright: 2026, The weft authors\nLicense: BSD-3-Clause\n ${license}\n")
  foreach(entry IN LISTS packaged)
    string(REPLACE ":" ";" entry ${entry})
    list(POP_FRONT entry component name)
    file(WRITE ${work}/${name}/changelog "${name} (${PROJECT_VERSION}-1) unstable; urgency=medium

  * Built from the sources of weft ${PROJECT_VERSION}.

 -- ${maintainer}  Thu, 01 Jan 2026 00:00:00 +0000\n")
    execute_process(COMMAND gzip -9nc ${work}/${name}/changelog OUTPUT_FILE ${work}/${name}/changelog.Debian.gz)
    install(FILES ${work}/copyright ${work}/${name}/changelog.Debian.gz DESTINATION share/doc/${name} COMPONENT ${component})
  endforeach()
  file(WRITE ${work}/triggers "activate-noawait ldconfig\n")
  file(WRITE ${work}/shlibs "")
  foreach(target IN ITEMS weft_library weft_shmem)
    get_target_property(name ${target} OUTPUT_NAME)
    get_target_property(version ${target} SOVERSION)
    file(APPEND ${work}/shlibs "lib${name} ${version} libweft0 (>= ${PROJECT_VERSION})\n")
  endforeach()
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${work}/triggers ${work}/shlibs)
  set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/FinishPackage.cmake)
endif()
include(CPack)
