# SPDX-License-Identifier: BSD-3-Clause
# The shared library, and what `cmake --install` installs: bin/weft with its man pages and completion, include/weft,
# lib/libweft.so, the network module in lib/weft, and the files for find_package(weft) and pkg-config. The installed
# tree can be moved as a whole.
include(CMakePackageConfigHelpers)

# interposers.cpp is compiled into the library, not into the archive of its room: the linker would omit functions to
# which no code refers, and their names would be hidden.
add_library(weft_library SHARED $<TARGET_OBJECTS:weft_api_c> $<TARGET_OBJECTS:weft_api_cpp>
            ${CMAKE_SOURCE_DIR}/src/link/direct/interposers.cpp)
add_library(weft::weft ALIAS weft_library)
set(exported ${CMAKE_SOURCE_DIR}/cmake/weft.map)
set_target_properties(weft_library PROPERTIES
  OUTPUT_NAME weft EXPORT_NAME weft CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON VERSION ${PROJECT_VERSION} SOVERSION 0 LINKER_LANGUAGE CXX LINK_DEPENDS ${exported})
target_link_libraries(weft_library PRIVATE weft_options weft_run weft_link_direct fmt::fmt)
# nodelete: remapped memory and fork handlers outlive the runtime, so the library must stay loaded.
target_link_options(weft_library PRIVATE -Wl,--version-script=${exported} -Wl,--exclude-libs,ALL -Wl,-z,nodelete)
if(NOT WEFT_SANITIZE) # a sanitizer's symbols come from the executable
  target_link_options(weft_library PRIVATE -Wl,--no-undefined)
endif()
target_include_directories(weft_library INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
add_dependencies(weft_library weft_fabric)

# Built programs have the search path of installed ones. By default CMake pads the path of built programs with an empty
# entry, for which the loader searches the current folder.
set_target_properties(weft weft_library weft_fabric PROPERTIES BUILD_WITH_INSTALL_RPATH ON)

install(TARGETS weft RUNTIME COMPONENT tools)
install(DIRECTORY ${CMAKE_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATAROOTDIR} COMPONENT tools)
install(TARGETS weft_library EXPORT weftTargets LIBRARY COMPONENT library NAMELINK_COMPONENT development)
install(TARGETS weft_fabric LIBRARY DESTINATION ${WEFT_MODULE_FOLDER} COMPONENT library)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${config_folder} COMPONENT development)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/weftConfig.cmake.in ${CMAKE_BINARY_DIR}/weftConfig.cmake
                              INSTALL_DESTINATION ${config_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/weftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/weftConfig.cmake ${CMAKE_BINARY_DIR}/weftConfigVersion.cmake DESTINATION ${config_folder}
        COMPONENT development)

file(RELATIVE_PATH WEFT_PREFIX_FROM_PC /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${CMAKE_SOURCE_DIR}/cmake/weft.pc.in ${CMAKE_BINARY_DIR}/weft.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
