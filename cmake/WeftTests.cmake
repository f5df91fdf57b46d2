# SPDX-License-Identifier: BSD-3-Clause
# weft_test(<name> [TIMEOUT <seconds>] [LABELS <label>...] [USES <room>...] [LINKS <target>...])
#
# All *_test.cpp files of the current folder become one GoogleTest program, which is one ctest entry.
#
# Labels describe the needs of a test. The presets of ctest select tests by label:
#   unit      one process, no launcher           not tsan: one thread; but unit_shared maps memory beside tsan's
#   virtual   many ranks in one process          every preset, tsan too
#   property  generators against the verifier    not tsan: one thread
#   ranks     processes under a launcher         not tsan; no other test at the same time, because it uses all cores
#   providers processes over each fabric         as ranks
#   library   also ranks: calls the C and C++ interface
#   cli       the weft command, one process      not tsan
#   lint      reads the sources                  not the sanitizers
#   script    a script of perf/                  not the sanitizers
#   install   installs, builds outside, runs     not the sanitizers; no other test at the same time
# The target weft_tests_<label> builds the test programs of one label.
find_package(GTest REQUIRED)

function(weft_label_tests name target labels)
  set_property(TEST ${name} PROPERTY LABELS ${labels})
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT  # for the leak checker of the asan preset
    "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/cmake/leaks_of_libraries.txt:print_suppressions=0")
  if("ranks" IN_LIST labels OR "providers" IN_LIST labels)
    set_property(TEST ${name} PROPERTY RUN_SERIAL TRUE)
  endif()
  foreach(label IN LISTS labels)
    if(NOT TARGET weft_tests_${label})
      add_custom_target(weft_tests_${label})
    endif()
    if(TARGET "${target}")
      add_dependencies(weft_tests_${label} ${target})
    endif()
  endforeach()
endfunction()

# The tsan preset builds this target, even if no test has the label.
add_custom_target(weft_tests_virtual)

function(weft_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "USES;LINKS;LABELS" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 120)
  endif()
  if(CMAKE_CROSSCOMPILING) # tests run in an emulator
    math(EXPR TEST_TIMEOUT "${TEST_TIMEOUT} * 10")
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  list(TRANSFORM TEST_USES PREPEND weft_)
  add_executable(weft_${name}_test ${sources})
  target_link_libraries(weft_${name}_test PRIVATE weft_options ${TEST_USES} ${TEST_LINKS} GTest::gtest GTest::gtest_main)
  set(precompiled fast)
  if(NOT name STREQUAL "virtual") # -O1 compiles faster; only the virtual tests take long enough to need -O2
    set(precompiled tests)
    # At -O1 g++ 12 wrongly warns of overruns in lists of std::string (its bug 105329).
    target_compile_options(weft_${name}_test PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1;-Wno-array-bounds;-Wno-stringop-overflow>)
  endif()
  target_include_directories(weft_${name}_test PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(weft_${name}_test PRIVATE $<$<BOOL:${CMAKE_CROSSCOMPILING}>:WEFT_TESTS_EMULATED>)
  if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo") # all of tests/ has one optimization level
    set(precompiled tests)
  endif()
  weft_precompile(weft_${name}_test ${precompiled})
  add_test(NAME ${name} COMMAND weft_${name}_test)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT})
  weft_label_tests(${name} weft_${name}_test "${TEST_LABELS}")
endfunction()
