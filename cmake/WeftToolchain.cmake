# SPDX-License-Identifier: BSD-3-Clause
# Compiler options of all targets, and output folders.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(WEFT_CCACHE ccache)
if(WEFT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${WEFT_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${WEFT_CCACHE})
endif()

add_library(weft_options INTERFACE)
target_compile_options(weft_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                                              -Wno-missing-field-initializers
                                              $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
# All warnings of clang (the preset clang), except this list with a reason for each.
option(WEFT_EVERY_WARNING "Turn on all warnings of clang but a few" OFF)
set(unwanted_warnings
  c++98-compat c++98-compat-pedantic pre-c++14-compat pre-c++17-compat pre-c++20-compat-pedantic
  c++20-compat                         # the sources are C++20
  declaration-after-statement          # and C99 or later
  sign-conversion missing-field-initializers  # as for g++, above
  padded                               # static_assert checks the size where layout matters
  unsafe-buffer-usage                  # the library works with pointers into mapped memory
  old-style-cast zero-as-null-pointer-constant c99-extensions  # public headers are also C, and macros of MPI are C
  reserved-identifier reserved-macro-identifier  # OpenSHMEM requires these names
  disabled-macro-expansion             # system macros
  ctad-maybe-unsupported               # the standard library's locks lack the annotation
  float-equal                          # kernels compare operands, and reports compare with 0
  bitwise-instead-of-logical           # kernels have no branches
  undefined-func-template              # templates with few instances, all in one file
  missing-prototypes                   # Fortran, libfabric and UCX call names without a declaration in a header
  used-but-marked-unused               # GoogleTest marks names that SCOPED_TRACE uses
  assign-enum cast-align cast-qual     # tests of the C interface pass invalid values
  double-promotion                     # in comparisons of tests
  tautological-value-range-compare     # checks of sizes that are constants at present
  cast-function-type-strict            # makecontext() requires it
  missing-noreturn                     # the documentation of public functions says it
  pass-failed                          # kernels of long double are not vectorized
  weak-vtables                         # interfaces that have only a header
  exit-time-destructors global-constructors  # tables that exist until the program ends
  switch-enum                          # default cases are intended
  covered-switch-default)              # a value from a peer may be no enumerator
if(WEFT_EVERY_WARNING)
  list(TRANSFORM unwanted_warnings PREPEND -Wno-)
  target_compile_options(weft_options INTERFACE -Weverything ${unwanted_warnings})
endif()
if(WEFT_WARNINGS_AS_ERRORS)
  target_compile_options(weft_options INTERFACE -Werror)
endif()
if(WEFT_SANITIZE)
  target_compile_options(weft_options INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(weft_options INTERFACE -fsanitize=${WEFT_SANITIZE})
endif()
