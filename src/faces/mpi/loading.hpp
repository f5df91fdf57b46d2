// SPDX-License-Identifier: BSD-3-Clause
// loading.hpp - the layer in a program of the other MPI, or behind another library.
//
// Why      Handles of one MPI are invalid in the other. In a program of the other MPI, a preloaded
//          layer would break its calls, so the program starts again without it. A tool that is
//          preloaded before the layer may call PMPI_Init itself. The layer then gets no calls, and
//          reports this when the process ends.
// Holds    The first check runs before main(), the last one after it.
// Next     layer.hpp.
#pragma once

namespace weft::mpi {

/// Ends the process with a message if the code at `caller` was built for the other MPI. `caller` is
/// the return address of MPI_Init.
void check_caller(const void* caller);

}  // namespace weft::mpi
