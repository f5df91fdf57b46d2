// SPDX-License-Identifier: BSD-3-Clause
// samples.hpp - elements of all types for collectives: inputs, and their reductions.
//
// Idea     Callers handle bytes; the functions of Samples handle elements of one type.
// Holds    An input is a function of (batch, unit, index, rank), so a check needs no copy of the
//          input. Each intermediate result is exact in its type (integers wrap), in any order of
//          operands. Half of all positions have no zero on any rank, so that a product depends on
//          every factor; the other half tests zeros in logical operations. Many pairs have equal
//          values, which tests the choice of the index. fold() shares no code with the library's
//          kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/types.hpp"

namespace weft::oracle {

/// `count` elements, from index `first` on, of unit `unit` of the input of `rank` in batch `batch`.
struct SampleRange {
    Rank rank = 0;
    std::uint32_t unit = 0;
    std::uint64_t first = 0;
    std::size_t count = 0;
    std::uint64_t batch = 0;
};

/// An element type, its sample elements and their reduction.
struct Samples {
    Type type;
    std::size_t bytes;  ///< size of an element; at most kSampleBytesMax
    /// Writes inputs. Padding bytes of pairs keep their values.
    void (*write)(std::byte* to, const SampleRange& range);
    /// Computes into = into (op) other, for `count` elements.
    void (*fold)(Op op, std::byte* into, const std::byte* other, std::size_t count);
    /// Returns true if the values are equal; padding is ignored.
    bool (*equal)(const std::byte* left, const std::byte* right, std::size_t count);
    UserFunction combine;  ///< fold() as a user operation
};
inline constexpr std::size_t kSampleBytesMax = 32;

/// type: a built-in type.
[[nodiscard]] const Samples& samples_of(Type type);
/// Returns true if the operation is defined on the type. op and type must be built-in.
[[nodiscard]] bool has_operation(Type type, Op op);
/// Returns samples of maps x -> a x + b over 64-bit words, 16 bytes each. The user operation
/// composes two maps, so the order of operands matters.
[[nodiscard]] const Samples& affine_samples();
/// Returns samples of 12 bytes for a commutative user operation: sum, maximum, exclusive or.
[[nodiscard]] const Samples& triple_samples();

}  // namespace weft::oracle
