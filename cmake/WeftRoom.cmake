# SPDX-License-Identifier: BSD-3-Clause
# weft_room(<name> [DIRECTORY <dir>] [USES <room>...] [LINKS <target>...])
#
# One room: all .cpp files of one folder become the static library weft_<name>. USES names the rooms that it may include
# (docs/architecture.md has the table, tests/lint checks it); LINKS names external libraries.
function(weft_room name)
  cmake_parse_arguments(ROOM "" "DIRECTORY" "USES;LINKS" ${ARGN})
  if(NOT ROOM_DIRECTORY)
    set(ROOM_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${ROOM_DIRECTORY}/*.cpp)
  list(TRANSFORM ROOM_USES PREPEND weft_)
  if(sources)
    add_library(weft_${name} STATIC ${sources})
    target_link_libraries(weft_${name} PRIVATE weft_options PUBLIC ${ROOM_USES} PRIVATE ${ROOM_LINKS})
    target_include_directories(weft_${name} PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src
                                                   ${CMAKE_SOURCE_DIR})
    # The shared library exports only names that are marked WEFT_API.
    set_target_properties(weft_${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    weft_precompile(weft_${name} rooms)
  else()
    add_library(weft_${name} INTERFACE)
    target_link_libraries(weft_${name} INTERFACE ${ROOM_USES} ${ROOM_LINKS})
    target_include_directories(weft_${name} INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src
                                                      ${CMAKE_SOURCE_DIR})
  endif()
endfunction()
