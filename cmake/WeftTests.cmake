# SPDX-License-Identifier: BSD-3-Clause
# weft_test(<name> [TIMEOUT <seconds>] [LABELS <label>...] [USES <room>...] [LINKS <target>...])
#
# Every *_test.cpp of the current folder becomes one GoogleTest program, run as one ctest entry.
find_package(GTest REQUIRED)
set(CMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE PRE_TEST)

function(weft_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "USES;LINKS;LABELS" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 120)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  list(TRANSFORM TEST_USES PREPEND weft_)
  add_executable(weft_${name}_test ${sources})
  target_link_libraries(weft_${name}_test PRIVATE weft_options ${TEST_USES} ${TEST_LINKS} GTest::gtest GTest::gtest_main)
  target_include_directories(weft_${name}_test PRIVATE ${CMAKE_SOURCE_DIR})
  add_test(NAME ${name} COMMAND weft_${name}_test)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT} LABELS "${TEST_LABELS}")
endfunction()
