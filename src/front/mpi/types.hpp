// SPDX-License-Identifier: BSD-3-Clause
// types.hpp - what MPI's types and operations are to us.
//
// Idea     Movement needs bytes alone: how many an element has, and whether elements lie back to
//          back in order, so that they need not be packed. Reductions need an element type, and a
//          class that says which operations MPI allows on it.
// Why      Ranks may describe the same data differently, as MPI asks only for equal signatures. So
//          movement is decided by bytes, which are the same on all ranks; a type that is not
//          contiguous is packed on its rank and changes nothing for the others.
// Holds    What MPI does not allow is not in the tables, and so goes to the host, which says so.
// Next     prepared.hpp for who asks.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "weft/weft.h"

namespace weft::mpi {

struct TypeFacts {
    std::size_t size = 0;  ///< bytes of an element's data
    MPI_Aint extent = 0;   ///< from an element to the next one
    bool contiguous = false;
    std::optional<weft_type> element;  ///< for reductions
    std::uint32_t operations = 0;      ///< bits of weft_op that MPI allows on it
};

/// Returns facts about the type of `count` elements. If `count` is 0, the type is not read: it may
/// be MPI_DATATYPE_NULL, and other ranks may give another type. Returns nullptr for erroneous
/// arguments: if the count is negative, or the host does not know the type.
[[nodiscard]] const TypeFacts* facts_for(MPI_Count count, MPI_Datatype type);
/// Returns true for types of MPI on which reductions are served.
[[nodiscard]] bool is_builtin(MPI_Datatype type);
/// Returns true for operations of MPI, and for MPI_OP_NULL.
[[nodiscard]] bool is_builtin_operation(MPI_Op op);

struct ServedOperation {
    weft_op op = WEFT_OP_NONE;
    /// Memory that an operation of the program needs. A call in flight holds it. Empty for
    /// operations of MPI.
    std::shared_ptr<const void> keeps;
};

/// The operation of weft for `op` on elements of this type; nothing if weft has none.
[[nodiscard]] std::optional<ServedOperation> operation_for(MPI_Op op, MPI_Datatype type,
                                                           const TypeFacts& facts);

/// Called when a program has made or frees an operation of its own, from C. Any thread may call.
void note_user_operation(MPI_Op op, MPI_User_function* function, bool commutative);
void forget_user_operation(MPI_Op op);

/// Guards the tables of types, operations and communicators where several threads make calls.
[[nodiscard]] std::recursive_mutex& tables_mutex();

}  // namespace weft::mpi
