// SPDX-License-Identifier: BSD-3-Clause
// samples.hpp - elements of any type to call collectives with: inputs, and what they reduce to.
//
// Idea     Callers work on bytes; what an element is they learn from three functions over ranges.
// Why      `weft bench`, its MPI peers and the tests call with the same elements and check them in
//          the same way.
// Holds    An input is a function of (batch, unit, index, rank), so nothing is stored to compare
//          with. Every intermediate result is exact in its type (integers wrap), whatever the order
//          of the operands. Half of all positions have no zero on any rank, so that products keep
//          their information; in the other half logical operations see zeros. Pairs have many equal
//          values. The folds share nothing with the library's kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/types.hpp"

namespace weft::oracle {

/// Elements `first` and following of unit `unit` of what `rank` contributes to batch `batch`.
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
    /// Writes inputs; of a pair, the bytes of its padding stay as they are.
    void (*write)(std::byte* to, const SampleRange& range);
    /// into = into (op) other, `count` elements.
    void (*fold)(Op op, std::byte* into, const std::byte* other, std::size_t count);
    /// Whether values are equal; padding does not count.
    bool (*equal)(const std::byte* left, const std::byte* right, std::size_t count);
    /// The fold as a user's operation.
    UserFunction combine;
};
inline constexpr std::size_t kSampleBytesMax = 32;

/// Of a built-in type.
[[nodiscard]] const Samples& samples_of(Type type);
/// Whether elements of a built-in type are reduced by a built-in operation.
[[nodiscard]] bool has_operation(Type type, Op op);
/// Maps x -> a x + b over words, 16 bytes, which a user's operation composes: the order of the
/// operands matters.
[[nodiscard]] const Samples& affine_samples();
/// Elements of 12 bytes that a user's operation combines in any order: sum, maximum, exclusive or.
[[nodiscard]] const Samples& triple_samples();

}  // namespace weft::oracle
