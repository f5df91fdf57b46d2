// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/combination.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>

namespace weft::mpi {

namespace {

/// Combines elements by the host, whose count is an int.
int reduce_local(std::byte* in, std::byte* inout, const Packing& all, MPI_Op op) {
    constexpr MPI_Count kPieceMax = INT_MAX / 2;
    for (MPI_Count done = 0; done < all.count; done += kPieceMax) {
        const MPI_Aint offset = done * all.facts.extent;
        const auto piece = static_cast<int>(std::min(all.count - done, kPieceMax));
        if (const int error =
                PMPI_Reduce_local(at(in, offset), at(inout, offset), piece, all.type, op);
            error != MPI_SUCCESS)
            return error;
    }
    return MPI_SUCCESS;
}

}  // namespace

void Combination::keep() {
    if (operands != 0) result.keep();
}

int Combination::run(std::byte* first) {
    const std::size_t bytes = result.bytes();
    if (operands == 0 || bytes == 0) return MPI_SUCCESS;
    result.packed = first + (operands - 1) * bytes;
    MPI_Aint low = 0;
    MPI_Aint true_extent = 0;
    PMPI_Type_get_true_extent(result.type, &low, &true_extent);
    const bool contiguous = result.facts.contiguous;
    const MPI_Aint reach = result.facts.extent * (result.count - 1);  // negative if the extent is
    low += std::min<MPI_Aint>(reach, 0);
    const auto span = static_cast<std::size_t>(std::abs(reach) + true_extent);
    // Elements with gaps are combined in two buffers with the layout of the type.
    const Room rooms[2] = {Room(contiguous ? 0 : span), Room(contiguous ? 0 : span)};
    Packing sum = result;
    Packing operand = result;
    if (!contiguous) {
        sum.memory = at(rooms[0].get(), -low);
        operand.memory = at(rooms[1].get(), -low);
    }
    int error = contiguous ? MPI_SUCCESS : sum.unpack();
    for (std::size_t rank = operands - 1; rank-- > 0 && error == MPI_SUCCESS;) {
        operand.packed = first + rank * bytes;
        if (!contiguous) error = operand.unpack();
        std::byte* const left = contiguous ? operand.packed : operand.memory;
        std::byte* const right = contiguous ? sum.packed : sum.memory;
        if (error == MPI_SUCCESS) error = reduce_local(left, right, result, op);
    }
    if (!contiguous && error == MPI_SUCCESS) error = sum.pack();
    const int outcome = result.unpack();
    return error != MPI_SUCCESS ? error : outcome;
}

}  // namespace weft::mpi
