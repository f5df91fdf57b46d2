// SPDX-License-Identifier: BSD-3-Clause
// types.hpp - weft's equivalents of MPI's types and operations.
//
// Idea     Data movement needs only the bytes of an element, and whether elements are contiguous
//          and in order, so that packing is not necessary. Reductions need an element type, and the
//          set of operations that MPI allows on it.
// Why      Ranks may describe the same data by different types, because MPI only requires equal
//          signatures. So weft moves bytes, whose number is equal on all ranks. A rank packs data
//          of types that are not contiguous; other ranks do not depend on it.
//          Two kinds of reductions are not element-wise in weft: those on elements that no type of
//          weft has the size of, and those whose operation only the host knows. For these, weft
//          moves the contributions, and each rank combines them (prepared.hpp).
// Holds    Combinations that the host does not allow go to the host, which reports the error.
// Next     prepared.hpp, which uses these.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "faces/mpi/blocks.hpp"
#include "weft/weft.h"

namespace weft::mpi {

struct TypeFacts {
    std::size_t size = 0;  ///< bytes of an element's data
    MPI_Aint extent = 0;   ///< bytes from an element to the next
    bool contiguous = false;
    std::optional<weft_type> element;  ///< weft's type in reductions; empty: weft cannot reduce it
    std::uint32_t operations = 0;      ///< bits of weft_op that MPI allows on `element`
    std::uint32_t asked = 0;           ///< bits of operations on which the host was asked
    std::uint32_t allowed = 0;         ///< bits of `asked` that the host allows
    std::shared_ptr<const BlockList> blocks;  ///< of types with gaps; nullptr: the host packs
};

/// Returns facts about the type of `count` elements. If `count` is 0, the type is not read: it may
/// be MPI_DATATYPE_NULL, and other ranks may pass another type. Returns nullptr for erroneous
/// arguments: if the count is negative, or the host does not know the type.
[[nodiscard]] TypeFacts* facts_for(MPI_Count count, MPI_Datatype type);
/// Returns true for predefined types on which weft reduces, and for MPI_DATATYPE_NULL.
[[nodiscard]] bool is_builtin(MPI_Datatype type);
/// Returns true for predefined operations that weft has, and for MPI_OP_NULL.
[[nodiscard]] bool is_builtin_operation(MPI_Op op);

/// How a reduction is made.
struct Reduction {
    enum class Method : std::uint8_t {
        refused,   ///< by the host, which reports the error
        elements,  ///< by a reduction of weft on elements of `type`
        combined,  ///< weft moves the contributions, and each rank combines them
    };
    Method method = Method::refused;
    weft_type type = WEFT_UINT8;
    weft_op op = WEFT_SUM;
    std::shared_ptr<const void> keeps;  ///< memory for the call, until it ends
};

/// Makes MPI_SUM exact on floating-point types that have WEFT_EXACT_SUM.
void make_sums_exact();

/// Returns how a reduction is made. starts: the program may free the type before the call ends.
[[nodiscard]] Reduction reduction_for(MPI_Op op, MPI_Datatype type, TypeFacts& facts, bool starts);

/// Signature of a user operation.
enum class Signature : std::uint8_t { c, large_count, fortran };

/// Records a user operation that the program has made. Any thread may call.
void note_user_operation(MPI_Op op, void (*function)(), Signature signature, bool commutative);
/// Removes a user operation that the program frees; the host frees it when no call uses it. Returns
/// false if the operation is unknown. Any thread may call.
[[nodiscard]] bool forget_user_operation(MPI_Op op);

/// Communicator of this rank alone that returns errors; for functions that use only local memory.
inline MPI_Comm own_comm = MPI_COMM_NULL;

/// Guards the tables of types, operations and communicators where several threads make calls.
inline std::recursive_mutex tables_mutex;

}  // namespace weft::mpi
