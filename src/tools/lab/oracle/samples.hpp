// SPDX-License-Identifier: BSD-3-Clause
// samples.hpp - elements of all types for collectives: inputs, and their reductions.
//
// Idea     Callers handle bytes; three functions over ranges know the element type.
// Why      `weft bench`, its MPI counterparts and the tests use the same elements and checks.
// Holds    An input is a function of (batch, unit, index, rank), so no copy is needed for
//          comparison. Each intermediate result is exact in its type (integers wrap), in any order
//          of operands. Half of all positions have no zero on any rank, so products keep
//          information; in the other half, logical operations see zeros. Pairs have many equal
//          values. The folds share no code with the library's kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/types.hpp"

namespace weft::oracle {

/// Elements first, first + 1, ... of unit `unit` that `rank` contributes to batch `batch`.
struct SampleRange {
    Rank rank = 0;
    std::uint32_t unit = 0;
    std::uint64_t first = 0;
    std::size_t count = 0;
    std::uint64_t batch = 0;
};

struct Samples {
    Type type;
    std::size_t bytes;  ///< of an element; at most kSampleBytesMax
    /// Writes inputs; padding of pairs is not changed.
    void (*write)(std::byte* to, const SampleRange& range);
    /// Computes into = into (op) other, for `count` elements.
    void (*fold)(Op op, std::byte* into, const std::byte* other, std::size_t count);
    /// Returns true if the values are equal; padding does not count.
    bool (*equal)(const std::byte* left, const std::byte* right, std::size_t count);
    /// The fold as a user operation.
    UserFunction combine;
};
inline constexpr std::size_t kSampleBytesMax = 32;

[[nodiscard]] const Samples& samples_of(Type type);
/// Returns true if the operation is defined on the type; both are built in.
[[nodiscard]] bool has_operation(Type type, Op op);
/// Returns samples of maps x -> a x + b over words, 16 bytes. A user operation composes them, so
/// the order of operands matters.
[[nodiscard]] const Samples& affine_samples();
/// Returns samples of 12 bytes for a commutative user operation: sum, maximum, exclusive or.
[[nodiscard]] const Samples& triple_samples();

}  // namespace weft::oracle
