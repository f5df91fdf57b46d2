# SPDX-License-Identifier: BSD-3-Clause
# Precompiled headers: what nearly every file includes and never changes. Each set is read once, for all targets that
# name it:
#   rooms     the standard library and fmt, for the libraries
#   tests     these and GoogleTest, for the programs of tests
#   programs  the same without GoogleTest, for everything else with a main()
#   commands  as programs, for what is not worth optimising hard (-O1)
#   fast      as tests, for tests that are optimised as the preset says
# A set is optimised as its users are: from version 13 on, g++ for x86 refuses one of another level. So a folder with a
# level of its own sets WEFT_PRECOMPILED_HERE to a prefix, and has sets of its own.
# CLI11 and nlohmann's JSON are not among them: they cost every file half a second and more, however they are read. The
# room lab/program hides both.
# A header of the project is never among them, so that editing one rebuilds its own users alone.
# -DWEFT_PRECOMPILE=OFF shows whether every file includes what it needs.
option(WEFT_PRECOMPILE "Precompile the headers of the standard library, fmt and GoogleTest" ON)

set(WEFT_COMMON_HEADERS
  <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <cstddef> <cstdint> <cstdio> <cstdlib> <cstring>
  <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view> <tuple>
  <type_traits> <unordered_map> <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h>)

# The target that compiles a set. Code of libraries and of programs differs (-fPIC, -fPIE), so the holder of a set for
# programs is a program.
function(weft_precompiled_set holder name)
  set(source ${CMAKE_BINARY_DIR}/precompiled/${holder}.cpp)
  if(name STREQUAL "rooms")
    file(WRITE ${source} "// Nothing: this file exists for its precompiled header.\n")
    add_library(${holder} OBJECT ${source})
    set_target_properties(${holder} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    set(headers)
  else()
    file(WRITE ${source} "int main() {}  // this file exists for its precompiled header\n")
    add_executable(${holder} ${source})
    set(headers <fstream> <sstream> <iostream>)
  endif()
  if(name STREQUAL "commands")
    target_compile_options(${holder} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O1>)
  endif()
  if(name MATCHES "^(tests|fast)$")
    find_package(GTest REQUIRED)
    target_link_libraries(${holder} PRIVATE GTest::gtest)
    list(APPEND headers <gtest/gtest.h>)
    if(name STREQUAL "tests")
      target_compile_options(${holder} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
    endif()
  endif()
  target_link_libraries(${holder} PRIVATE weft_options fmt::fmt)
  target_precompile_headers(${holder} PRIVATE ${WEFT_COMMON_HEADERS} ${headers})
endfunction()

# weft_precompile(<target> <set>)
function(weft_precompile target name)
  if(NOT WEFT_PRECOMPILE)
    return()
  endif()
  set(holder weft_precompiled_${WEFT_PRECOMPILED_HERE}${name})
  if(NOT TARGET ${holder})
    weft_precompiled_set(${holder} ${name})
  endif()
  if(name STREQUAL "rooms") # clang refuses a set of another visibility
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${holder})
  target_link_libraries(${target} PRIVATE fmt::fmt) # whose definitions belong to the set
endfunction()
