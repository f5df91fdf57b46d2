# SPDX-License-Identifier: BSD-3-Clause
# Precompiled headers: what nearly every file of the project includes and never changes (the standard library and fmt),
# read once for all rooms and once for all tests. A header of the project is never among them, so that editing one
# rebuilds its own users alone. -DWEFT_PRECOMPILE=OFF shows whether every file includes what it needs.
option(WEFT_PRECOMPILE "Precompile the headers of the standard library, fmt and GoogleTest" ON)

set(WEFT_COMMON_HEADERS
  <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <cstddef> <cstdint> <cstdio> <cstdlib> <cstring>
  <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view> <tuple>
  <type_traits> <unordered_map> <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h>)

# weft_precompiled(<name> <header>...): the target weft_precompiled_<name>, from which others reuse.
function(weft_precompiled name)
  file(WRITE ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp "// Nothing: this file exists for its precompiled header.\n")
  add_library(weft_precompiled_${name} OBJECT ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp)
  target_link_libraries(weft_precompiled_${name} PRIVATE weft_options fmt::fmt)
  target_precompile_headers(weft_precompiled_${name} PRIVATE ${ARGN})
endfunction()

# weft_precompile(<target> <name>): the target reads the precompiled headers of that name.
function(weft_precompile target name)
  if(NOT WEFT_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET weft_precompiled_${name})
    if(name STREQUAL "rooms")
      weft_precompiled(rooms ${WEFT_COMMON_HEADERS})
      set_target_properties(weft_precompiled_rooms PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    elseif(name STREQUAL "tests")
      find_package(GTest REQUIRED)
      weft_precompiled(tests ${WEFT_COMMON_HEADERS} <gtest/gtest.h> <fstream> <sstream>)
      target_link_libraries(weft_precompiled_tests PRIVATE GTest::gtest)
      target_compile_options(weft_precompiled_tests PRIVATE -fPIE)  # as the programs that reuse it
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM weft_precompiled_${name})
endfunction()
