// SPDX-License-Identifier: BSD-3-Clause
// combination.hpp - a reduction that each rank computes locally from the moved operands.
//
// Why      weft reduces elements of its own types. Elements of another size, and operations that
//          only the host knows, are combined by the host's MPI_Reduce_local.
// Next     prepared.cpp, which moves the operands.
#pragma once

#include <mpi.h>

#include "faces/mpi/call_data.hpp"

namespace weft::mpi {

struct Combination {
    MPI_Op op = MPI_OP_NULL;
    std::size_t operands = 0;  ///< contributions of ranks 0 to operands - 1
    Packing result;

    /// Keeps the type usable until run(), even if the program frees it.
    void keep();
    /// Combines the packed operands at `first`, from the last to the first, and unpacks the result.
    /// Returns MPI_SUCCESS or the host's error.
    [[nodiscard]] int run(std::byte* first);
};

}  // namespace weft::mpi
