# SPDX-License-Identifier: BSD-3-Clause
# What every target is compiled with, and where results go.

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
# Everything that clang can warn of (the preset clang), except what is left out here, each with its reason.
option(WEFT_EVERY_WARNING "Turn on all warnings of clang but a few" OFF)
set(unwanted_warnings
  c++98-compat c++98-compat-pedantic pre-c++14-compat pre-c++17-compat pre-c++20-compat-pedantic
  c++20-compat                         # this is C++20,
  declaration-after-statement          # and C of 1999 or later
  sign-conversion missing-field-initializers  # as for g++, above
  padded                               # where layout matters a static_assert says what it is
  unsafe-buffer-usage                  # pointers into mapped memory are what this library is about
  old-style-cast zero-as-null-pointer-constant c99-extensions  # public headers are C, too, as are macros of MPI
  reserved-identifier reserved-macro-identifier  # OpenSHMEM asks for these names
  disabled-macro-expansion             # macros of the system
  ctad-maybe-unsupported               # the standard library's own locks say nothing of it
  float-equal                          # kernels compare operands, and reports compare with 0
  bitwise-instead-of-logical           # kernels have no branches
  undefined-func-template              # templates whose few instances one file has
  missing-prototypes                   # Fortran, libfabric and UCX call names that no header declares
  used-but-marked-unused               # GoogleTest marks what SCOPED_TRACE uses
  assign-enum cast-align cast-qual     # tests of the C interface pass what is refused
  double-promotion                     # of what tests compare
  tautological-value-range-compare     # sizes that are constants today
  cast-function-type-strict            # makecontext() asks for it
  missing-noreturn                     # public functions say it in words
  pass-failed                          # kernels of long double have no vectors
  weak-vtables                         # interfaces that are one header
  exit-time-destructors global-constructors  # tables that live as long as the program
  switch-enum                          # a default is meant,
  covered-switch-default)              # and a number that a peer has sent may be none of the names
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
