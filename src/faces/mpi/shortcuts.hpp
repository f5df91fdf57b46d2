// SPDX-License-Identifier: BSD-3-Clause
// shortcuts.hpp - a fast path to the host, for calls that the host serves faster.
//
// Why      The host's fastest calls take 70 ns in a stream. Looking up the communicator, reading
//          the arguments and asking for the next turn would add a fifth.
// Holds    A shortcut remembers a decision of the slow path: the arguments on which it depends,
//          with types and operations that no program can free. It ends with its communicator.
//          During trials, host calls that are timed together also use it. They are counted, so
//          ranks may differ in whether they remember them.
// Next     choices.hpp for decisions; calls.cpp for the look-up.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>

#include "faces/mpi/choices.hpp"
#include "faces/mpi/statistics.hpp"

namespace weft::mpi {

/// Arguments on which the decision about a call depends.
struct Shortcut {
    static constexpr MPI_Count kNever = -1;  ///< count of calls that are not remembered

    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Count count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    int root = 0;
    MPI_Count other_count = 0;
    MPI_Datatype other_type = MPI_DATATYPE_NULL;

    /// Compares comm and the first `kFields` fields after it, which are those in which calls of
    /// the kind differ.
    template <std::size_t kFields>
    [[nodiscard]] bool equals(const Shortcut& other) const {
        if (comm != other.comm) return false;
        if constexpr (kFields > 0)
            if (count != other.count) return false;
        if constexpr (kFields > 1)
            if (type != other.type) return false;
        if constexpr (kFields == 3)  // calls with a root have no operation here
            if (op != other.op) return false;
        if constexpr (kFields > 3)
            if (root != other.root) return false;
        if constexpr (kFields > 4)
            return other_count == other.other_count && other_type == other.other_type;
        return true;
    }
};

/// Counter for calls that go to the host permanently; in effect unlimited.
inline Glances no_end = Glances{1} << 62;

struct Remembered {
    Shortcut call;
    Glances* left = &no_end;
};

/// Last call of each Kind for which the host was found faster. Only one thread uses it.
inline std::array<Remembered, kKindNames.size()> shortcuts;

/// kFields: number of fields that all calls of the kind set.
template <std::size_t kFields>
[[nodiscard]] inline bool has_shortcut(Kind kind, const Shortcut& call) {
    const Remembered& known = shortcuts[static_cast<std::size_t>(kind)];
    if (!known.call.equals<kFields>(call) || *known.left == 0) return false;
    --*known.left;
    return true;
}

inline void remember(Kind kind, const Shortcut& call, Glances* left = &no_end) {
    if (call.count != Shortcut::kNever)
        shortcuts[static_cast<std::size_t>(kind)] = {.call = call, .left = left};
}

/// Removes a communicator's shortcuts. Its handle may soon be reused on some of the ranks.
inline void forget_shortcuts(MPI_Comm comm) {
    for (Remembered& one : shortcuts)
        if (one.call.comm == comm) one = {};
}

}  // namespace weft::mpi
