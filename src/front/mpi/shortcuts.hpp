// SPDX-License-Identifier: BSD-3-Clause
// shortcuts.hpp - calls that the host is quicker at go there after a glance at their arguments.
//
// Why      The quickest calls of a host take 70 ns in a stream. To find the communicator, to read
//          the arguments and to ask whose turn it is would be a fifth of that.
// Holds    What is remembered is what the long way has decided: the arguments that it depends on,
//          with types and operations that no program can free. It goes with its communicator.
//          While both libraries are tried, those calls of the host that are timed together go this
//          way, too; they are counted down, so that it does not matter which rank remembers them.
// Next     choices.hpp for who decides; calls.cpp for who looks.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>

#include "front/mpi/choices.hpp"
#include "front/mpi/statistics.hpp"

namespace weft::mpi {

/// The arguments of a call that the choice depends on.
struct Shortcut {
    static constexpr MPI_Count kNever = -1;  ///< the count of calls that none is kept for

    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Count count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    int root = 0;
    MPI_Count other_count = 0;
    MPI_Datatype other_type = MPI_DATATYPE_NULL;

    /// Of the fields behind comm, the first `kFields`: those that calls of a kind differ in.
    template <std::size_t kFields>
    [[nodiscard]] bool equals(const Shortcut& other) const {
        if (comm != other.comm) return false;
        if constexpr (kFields > 0)
            if (count != other.count) return false;
        if constexpr (kFields > 1)
            if (type != other.type) return false;
        if constexpr (kFields == 3)  // with a root there is no operation to look at
            if (op != other.op) return false;
        if constexpr (kFields > 3)
            if (root != other.root) return false;
        if constexpr (kFields > 4)
            return other_count == other.other_count && other_type == other.other_type;
        return true;
    }
};

/// For calls that go to the host for good: as good as no number.
inline Glances no_end = Glances{1} << 62;

struct Remembered {
    Shortcut call;
    Glances* left = &no_end;
};

/// By Kind, the last call that the host was found to be quicker at. One thread uses it.
inline std::array<Remembered, kKindNames.size()> shortcuts;

/// kFields: as many as all calls of the kind give.
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

/// Its handle may soon be that of another communicator, on some of the ranks.
inline void forget_shortcuts(MPI_Comm comm) {
    for (Remembered& one : shortcuts)
        if (one.call.comm == comm) one = {};
}

}  // namespace weft::mpi
