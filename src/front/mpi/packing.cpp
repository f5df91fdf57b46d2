// SPDX-License-Identifier: BSD-3-Clause
#include "front/mpi/packing.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace weft::mpi {

namespace {

/// What the host packs at a time: its counts of bytes are ints.
constexpr std::size_t kPackedMax = std::size_t{1} << 30;

/// move(elements before, elements, bytes before, bytes) for each piece that the host can count.
template <class Move>
void in_pieces(MPI_Count count, const TypeFacts& facts, Move move) {
    const auto most = static_cast<MPI_Count>(std::max<std::size_t>(1, kPackedMax / facts.size));
    for (MPI_Count done = 0; done < count; done += most) {
        const MPI_Count piece = std::min(most, count - done);
        move(done, static_cast<int>(piece), bytes_of(done, facts),
             static_cast<int>(bytes_of(piece, facts)));
    }
}

}  // namespace

const std::byte* at(const void* memory, std::ptrdiff_t offset) {
    return reinterpret_cast<const std::byte*>(reinterpret_cast<std::uintptr_t>(memory) +
                                              static_cast<std::uintptr_t>(offset));
}

/// MPI_COMM_SELF: the bytes are the same on all communicators, and the program's may be gone.
void Packing::pack() const {
    if (facts.size == 0 || count == 0) return;
    if (facts.contiguous) {
        std::memcpy(to, memory, bytes_of(count, facts));
        return;
    }
    in_pieces(count, facts, [this](MPI_Count first, int some, std::size_t before, int bytes) {
        int position = 0;
        PMPI_Pack(at(memory, first * facts.extent), some, type, to + before, bytes, &position,
                  MPI_COMM_SELF);
    });
}

void Unpacking::keep() {
    kept = PMPI_Type_dup(type, &type) == MPI_SUCCESS;
}

void Unpacking::unpack() {
    if (facts.size == 0) return;
    in_pieces(count, facts, [this](MPI_Count first, int some, std::size_t before, int bytes) {
        int position = 0;
        PMPI_Unpack(from + before, bytes, &position,
                    const_cast<std::byte*>(at(memory, first * facts.extent)), some, type,
                    MPI_COMM_SELF);
    });
    if (kept) PMPI_Type_free(&type);
}

}  // namespace weft::mpi
