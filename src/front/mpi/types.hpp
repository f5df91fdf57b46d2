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

/// What is known of a type; nullptr if it is none that can be used, which the host will say.
[[nodiscard]] const TypeFacts* facts_of(MPI_Datatype type);
/// One of MPI's own that reductions are served on; whatever else is asked about is none.
[[nodiscard]] bool is_builtin(MPI_Datatype type);
/// One of MPI's own, or none.
[[nodiscard]] bool is_builtin_operation(MPI_Op op);

/// Our operation for one of MPI on this type, or nothing.
[[nodiscard]] std::optional<weft_op> operation_for(MPI_Op op, MPI_Datatype type,
                                                   const TypeFacts& facts);

/// A program has made or freed an operation of its own, from C.
void note_user_operation(MPI_Op op, MPI_User_function* function, bool commutative);
void forget_user_operation(MPI_Op op);
/// No started call is in flight: freed operations can go.
void drop_ended_operations();

}  // namespace weft::mpi
