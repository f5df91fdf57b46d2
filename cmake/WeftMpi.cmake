# SPDX-License-Identifier: BSD-3-Clause
# weft_find_mpi(<name> <compiler wrapper>)
#
# Defines the target weft_host_<name> with the flags to compile and link programs of one MPI library, or prints why it
# cannot. Only the flags come from the wrapper; the project's compiler builds the programs.
function(weft_find_mpi name wrapper)
  if(TARGET weft_host_${name})
    return()
  endif()
  find_program(WEFT_MPICXX_${name} ${wrapper})
  if(NOT WEFT_MPICXX_${name})
    message(STATUS "MPI: ${wrapper} not found, so ${name} is left out")
    return()
  endif()
  execute_process(COMMAND ${WEFT_MPICXX_${name}} -show OUTPUT_VARIABLE command RESULT_VARIABLE status
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT status EQUAL 0)
    message(STATUS "MPI: ${WEFT_MPICXX_${name}} -show failed, so ${name} is left out")
    return()
  endif()
  separate_arguments(flags UNIX_COMMAND "${command}")
  list(POP_FRONT flags)
  # The programs use the C interface, so the old C++ bindings are not linked.
  list(FILTER flags EXCLUDE REGEX "^-l(mpi_cxx|mpichcxx)$")
  set(includes ${flags})
  list(FILTER includes INCLUDE REGEX "^-I")
  list(TRANSFORM includes REPLACE "^-I" "")
  list(FILTER flags EXCLUDE REGEX "^-I")
  # A wrapper may be installed without its library: Debian's openmpi-bin has no headers.
  find_file(WEFT_MPI_H_${name} mpi.h PATHS ${includes} NO_DEFAULT_PATH)
  if(NOT WEFT_MPI_H_${name})
    message(STATUS "MPI: ${WEFT_MPICXX_${name}} has no mpi.h, so ${name} is left out")
    return()
  endif()
  add_library(weft_host_${name} INTERFACE)
  target_compile_definitions(weft_host_${name} INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  target_include_directories(weft_host_${name} SYSTEM INTERFACE ${includes})
  target_link_libraries(weft_host_${name} INTERFACE ${flags})
endfunction()
