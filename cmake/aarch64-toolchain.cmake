# SPDX-License-Identifier: BSD-3-Clause
# Builds for aarch64 on another Debian machine: with its cross compiler, headers and libraries of an arm64 Debian in the
# folder WEFT_SYSROOT (set in the environment or by -D), and QEMU to run programs. tests/system/aarch64/run creates that
# folder and uses this file.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

set(WEFT_SYSROOT "$ENV{WEFT_SYSROOT}" CACHE PATH "An arm64 Debian with the libraries that weft needs")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WEFT_SYSROOT)
if(NOT IS_DIRECTORY "${WEFT_SYSROOT}/usr/lib/aarch64-linux-gnu")
  message(FATAL_ERROR "WEFT_SYSROOT is '${WEFT_SYSROOT}', expected a folder with usr/lib/aarch64-linux-gnu; "
                      "tests/system/aarch64/run makes one")
endif()
set(CMAKE_SYSROOT ${WEFT_SYSROOT})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${WEFT_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${WEFT_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${WEFT_SYSROOT}/usr/share/pkgconfig)

# For programs that ctest and build rules start. Programs started by such a program need binfmt_misc.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${WEFT_SYSROOT})
