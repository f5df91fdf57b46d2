// SPDX-License-Identifier: BSD-3-Clause
// packing.hpp - packs and unpacks data of types that are not contiguous, with the host's functions.
//
// Idea     The host counts packed bytes in ints, so data is packed in pieces of up to 1 GiB. Data
//          at address 0 (MPI_BOTTOM) is described by another address and a type with an offset,
//          because MPICH refuses a null pointer. A single element of more than 1 GiB is packed with
//          a count of type MPI_Count if the host has MPI 4; else the rank sends it to itself and
//          receives bytes.
// Holds    Packing does not use the tables of types, so several threads may pack at a time.
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

/// Elements of the program, and memory for their packed bytes. pack() and unpack() return
/// MPI_SUCCESS or the host's error.
struct Packing {
    std::byte* packed = nullptr;
    std::byte* memory = nullptr;  ///< address of the elements
    MPI_Count count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    TypeFacts facts;
    bool kept = false;  ///< `type` is a duplicate, which unpack() frees

    [[nodiscard]] std::size_t bytes() const { return bytes_of(count, facts); }
    [[nodiscard]] int pack() const;
    /// Keeps the type usable until unpack(), even if the program frees it.
    void keep();
    [[nodiscard]] int unpack();
};

}  // namespace weft::mpi
