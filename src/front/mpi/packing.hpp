// SPDX-License-Identifier: BSD-3-Clause
// packing.hpp - data of types that are not contiguous, on its way into and out of memory of a call.
//
// Holds    Nothing here looks into the tables of types: several threads may pack at a time. A type
//          that is unpacked after its program has freed it was kept by keep().
// Next     prepared.hpp for whose data it is.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "front/mpi/types.hpp"

namespace weft::mpi {

/// The address of `offset` bytes behind `memory`, which may be MPI_BOTTOM.
[[nodiscard]] const std::byte* at(const void* memory, std::ptrdiff_t offset);

/// Bytes of data of so many elements.
[[nodiscard]] inline std::size_t bytes_of(MPI_Count count, const TypeFacts& facts) {
    return static_cast<std::size_t>(count) * facts.size;
}

/// Elements of the program's that become bytes.
struct Packing {
    std::byte* to = nullptr;
    const void* memory = nullptr;
    MPI_Count count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    TypeFacts facts;

    void pack() const;
};

/// Bytes that become elements of the program's.
struct Unpacking {
    const std::byte* from = nullptr;
    void* memory = nullptr;
    MPI_Count count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    TypeFacts facts;
    bool kept = false;

    /// The type stays usable, whatever the program does, until the bytes are unpacked.
    void keep();
    void unpack();
};

}  // namespace weft::mpi
