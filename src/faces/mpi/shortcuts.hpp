// SPDX-License-Identifier: BSD-3-Clause
// shortcuts.hpp - a fast path to the host, for calls that the ranges of `auto` give to it.
//
// Why      The host's fastest calls take 70 ns in a stream. Looking up the communicator and reading
//          the arguments would add a fifth.
// Holds    A shortcut remembers a choice of the slow path: the arguments on which it depends, with
//          types and operations that no program can free. It ends with its communicator.
// Next     choices.hpp for the choice; calls.cpp for the look-up.
#pragma once

#include <mpi.h>

#include <array>

#include "faces/mpi/statistics.hpp"

namespace weft::mpi {

/// Arguments on which the choice for a call depends.
struct Shortcut {
    static constexpr MPI_Count kNever = -1;  ///< count of calls that are not remembered

    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Count count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    int root = 0;
    MPI_Count other_count = 0;
    MPI_Datatype other_type = MPI_DATATYPE_NULL;

    [[nodiscard]] bool operator==(const Shortcut& other) const {
        return comm == other.comm && count == other.count && type == other.type && op == other.op &&
               root == other.root && other_count == other.other_count &&
               other_type == other.other_type;
    }
};

/// Last call of each Kind that was given to the host. Only one thread uses it.
inline std::array<Shortcut, kKindNames.size()> shortcuts;

[[nodiscard]] inline bool has_shortcut(Kind kind, const Shortcut& call) {
    return shortcuts[static_cast<std::size_t>(kind)] == call;
}

/// Removes a communicator's shortcuts. Its handle may soon be reused on some of the ranks.
inline void forget_shortcuts(MPI_Comm comm) {
    for (Shortcut& one : shortcuts)
        if (one.comm == comm) one = {};
}

}  // namespace weft::mpi
