# SPDX-License-Identifier: BSD-3-Clause
# Precompiled headers: headers that almost every file includes and that rarely change. Each set of headers is compiled
# once for all targets that use it:
#   rooms     the standard library and fmt, for the libraries
#   tests     rooms and GoogleTest, for test programs
#   programs  tests without GoogleTest, for all other programs
#   commands  as programs, for code that needs little optimization (-O1)
#   fast      as tests, for tests with the optimization level of the preset
# A set has the optimization level of its users, because g++ 13 and later for x86 refuses a set of another level. A
# folder with another level sets WEFT_PRECOMPILED_HERE to a prefix of the names of its sets.
# CLI11 and nlohmann's JSON are in no set: they cost every file at least half a second, even precompiled. Only the room
# tools/lab/program includes CLI11; files that read members of JSON values include nlohmann/json.hpp.
# No set has a header of the project, so that a change of a header rebuilds only its users.
# With -DWEFT_PRECOMPILE=OFF a file fails to compile unless it includes all headers that it needs.
option(WEFT_PRECOMPILE "Precompile the headers of the standard library, fmt and GoogleTest" ON)

set(WEFT_COMMON_HEADERS
  <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <cstddef> <cstdint> <cstdio> <cstdlib> <cstring>
  <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view> <tuple>
  <type_traits> <unordered_map> <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h>)

# Adds the target <holder> that compiles the set <name>. Flags of libraries and programs differ (-fPIC, -fPIE), so the
# target of a set for programs is a program.
function(weft_precompiled_set holder name)
  set(source ${CMAKE_BINARY_DIR}/precompiled/${holder}.cpp)
  if(name STREQUAL "rooms")
    file(WRITE ${source} "// This file exists for its precompiled header.\n")
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
  if(name STREQUAL "rooms") # clang refuses a set with another visibility
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${holder})
  target_link_libraries(${target} PRIVATE fmt::fmt) # the set refers to definitions of fmt
endfunction()
