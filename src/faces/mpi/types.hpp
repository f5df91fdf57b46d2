// SPDX-License-Identifier: BSD-3-Clause
// types.hpp - weft's equivalents of MPI's types and operations.
//
// Idea     Data movement needs only the bytes of an element, and whether elements are contiguous
//          and in order, so that packing is not necessary. Reductions need an element type, and the
//          set of operations that MPI allows on it.
// Why      Ranks may describe the same data by different types, because MPI only requires equal
//          signatures. So weft moves bytes, whose number is equal on all ranks. A rank packs data
//          of types that are not contiguous; other ranks do not depend on it.
// Holds    Combinations that MPI does not allow are not in the tables. They go to the host, which
//          reports the error.
// Next     prepared.hpp, which uses these.
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
    MPI_Aint extent = 0;   ///< bytes from an element to the next
    bool contiguous = false;
    std::optional<weft_type> element;  ///< weft's type in reductions; empty: weft cannot reduce it
    std::uint32_t operations = 0;      ///< bits of weft_op that MPI allows on `element`
};

/// Returns facts about the type of `count` elements. If `count` is 0, the type is not read: it may
/// be MPI_DATATYPE_NULL, and other ranks may pass another type. Returns nullptr for erroneous
/// arguments: if the count is negative, or the host does not know the type.
[[nodiscard]] const TypeFacts* facts_for(MPI_Count count, MPI_Datatype type);
/// Returns true for predefined types on which weft reduces, and for MPI_DATATYPE_NULL.
[[nodiscard]] bool is_builtin(MPI_Datatype type);
/// Returns true for predefined operations that weft has, and for MPI_OP_NULL.
[[nodiscard]] bool is_builtin_operation(MPI_Op op);

/// Returns weft's operation for `op` on elements of this type; nothing if weft has none. `keeps`
/// receives the memory of a user operation; the caller keeps it while the call is in flight.
[[nodiscard]] std::optional<weft_op> operation_for(MPI_Op op, MPI_Datatype type,
                                                   const TypeFacts& facts,
                                                   std::shared_ptr<const void>& keeps);

/// Makes MPI_SUM exact on floating-point types that have WEFT_EXACT_SUM.
void make_sums_exact();

/// Records a user operation that a C program has made. Any thread may call.
void note_user_operation(MPI_Op op, MPI_User_function* function, bool commutative);
/// Removes a user operation that a C program frees. Any thread may call.
void forget_user_operation(MPI_Op op);

/// Guards the tables of types, operations and communicators where several threads make calls.
inline std::recursive_mutex tables_mutex;

}  // namespace weft::mpi
