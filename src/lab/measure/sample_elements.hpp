// SPDX-License-Identifier: BSD-3-Clause
// sample_elements.hpp - elements of any type to measure calls with: inputs, and what they reduce to.
//
// Idea     Who measures works on bytes; what an element is it learns from three functions over ranges.
// Why      `weft bench` and its peers in perf/ call with the same elements, and check them the same way.
// Holds    Inputs differ by rank, element and batch. They are chosen so that every type holds every
//          intermediate result exactly (whole types wrap, on both sides): then any order of the operands
//          gives the same. The folds share nothing with the library's kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/types.hpp"

namespace weft::lab {

/// Where inputs are: elements `first` and following of what `rank` contributes to batch `batch`.
struct SampleRange {
    Rank rank = 0;
    std::size_t first = 0;
    std::size_t count = 0;
    std::uint64_t batch = 0;
};

struct SampleElements {
    Type type;
    std::size_t bytes;
    /// Writes inputs.
    void (*write)(std::byte* to, const SampleRange& range);
    /// into = into (op) other, `count` elements.
    void (*fold)(Op op, std::byte* into, const std::byte* other, std::size_t count);
    /// Whether values are equal; padding does not count.
    bool (*equal)(const std::byte* left, const std::byte* right, std::size_t count);
};

/// Of a built-in type.
[[nodiscard]] const SampleElements& sample_elements(Type type);

}  // namespace weft::lab
