// SPDX-License-Identifier: BSD-3-Clause
// types.hpp - ranks, element types, operations, collectives and statuses of the C++ interface.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

/// Index of a member of a team, 0..size-1.
using Rank = std::int32_t;

/// Element types. Each has the size of the corresponding C++ type; elements.hpp defines types that
/// C++ lacks.
enum class Type : std::uint8_t {
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float32,
    float64,
    longdouble,
    cfloat,     ///< std::complex<float>
    cdouble,    ///< std::complex<double>
    boolean,    ///< bool
    float16,    ///< IEEE 754 binary16
    bfloat16,   ///< the upper half of a binary32
    float_int,  ///< the first of eight structures of value and index, for minloc and maxloc
    double_int,
    int16_int,
    int32_int,
    int64_int,
    longdouble_int,
    double_int64,
    int64_int64,
    user,  ///< elements of a UserOp, whose constructor got their size
};
inline constexpr int kBuiltinTypes = 24;  ///< number of types other than user

/// Reduction operations. docs/guide/programming.md lists the types of each. Logical operations read
/// an element as (x != 0) and return 0 or 1. The minimum and the maximum of a NaN and a number are
/// NaN; -0.0 is less than +0.0. Of equal values, minloc and maxloc choose the lower index.
enum class Op : std::uint8_t {
    sum,
    prod,
    min,
    max,
    land,
    lor,
    lxor,
    band,
    bor,
    bxor,
    minloc,
    maxloc,
    exact_sum,  ///< exact sum, rounded once: the same bits for any order and number of ranks
    user        ///< a UserOp
};
inline constexpr int kBuiltinOps = 13;  ///< number of operations other than user

/// Function of a UserOp: sets inout[i] = in[i] (op) inout[i] for i < count, where `in` holds the
/// contributions of lower ranks. Never runs on two threads at once.
using UserFunction = void (*)(const void* in, void* inout, std::size_t count, void* argument);

enum class Collective : std::uint8_t {
    barrier,
    broadcast,
    reduce,
    allreduce,
    gather,
    scatter,
    allgather,
    alltoall,
    reduce_scatter,
    scan,
    exscan,
    gatherv,
    scatterv,
    allgatherv,
    alltoallv,
    reduce_scatterv
};

/// Comparison of a word with a value.
enum class Compare : std::uint8_t { eq, ne, gt, ge, lt, le };

/// Effect of an atomic operation on a word.
enum class AtomicKind : std::uint8_t { fetch, set, compare_swap, add, band, bor, bxor };

/// Effect of a signal on its word.
enum class SignalOp : std::uint8_t { set, add };

/// How a call ended, with the values of weft_status in the C interface.
enum class Status : std::int32_t {
    ok = 0,
    argument,     ///< invalid arguments, or arguments that differ between ranks
    memory,       ///< not enough memory of the requested kind
    environment,  ///< no provider, no launcher, or a failed system call
    peer,         ///< another rank died or reported a failure
    timeout,      ///< the call's time limit has passed
    unsupported,  ///< a feature of this interface that this version lacks
};

}  // namespace weft
