// SPDX-License-Identifier: BSD-3-Clause
// packing.hpp - packs and unpacks data of types that are not contiguous, with the host's functions.
//
// Idea     The host counts packed bytes in ints, so data goes through it in pieces. Two cases need
//          more. Data at address 0 (MPI_BOTTOM) is described by another address and a type with
//          an offset, since MPICH refuses a null pointer. A single element of more than 1 GiB is
//          packed with a count of type MPI_Count where the host has that (MPI 4). Otherwise the
//          rank sends the element to itself as bytes.
// Holds    The tables of types are not used here, so several threads may pack at a time. keep()
//          holds a type that the program may free before the data is unpacked.
// Next     prepared.hpp for the calls that the data belongs to.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "faces/mpi/types.hpp"

namespace weft::mpi {

/// Returns the address `offset` bytes behind `memory`, which may be MPI_BOTTOM.
[[nodiscard]] inline std::byte* at(const void* memory, std::ptrdiff_t offset) {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(memory) +
                                        static_cast<std::uintptr_t>(offset));
}

/// Returns the bytes of data of `count` elements.
[[nodiscard]] inline std::size_t bytes_of(MPI_Count count, const TypeFacts& facts) {
    return static_cast<std::size_t>(count) * facts.size;
}

/// Elements of the program, and memory for their bytes. The functions return MPI_SUCCESS or the
/// host's error.
struct Packing {
    std::byte* packed = nullptr;
    std::byte* memory = nullptr;
    MPI_Count count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    TypeFacts facts;
    bool kept = false;

    [[nodiscard]] std::size_t bytes() const { return bytes_of(count, facts); }
    [[nodiscard]] int pack() const;
    /// Keeps the type usable until unpack(), even if the program frees it.
    void keep();
    [[nodiscard]] int unpack();
};

}  // namespace weft::mpi
