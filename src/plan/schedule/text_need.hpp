// SPDX-License-Identifier: BSD-3-Clause
// text_need.hpp - how large programs may be that a text of some length describes.
//
// Idea     Generators write a step, some 30 bytes, for each few units that a rank handles. So the
//          vectors and the executed steps that a text can need grow with its length; constants let
//          small texts be large programs all the same. What is beyond is refused.
// Why      The verifier keeps something for each unit and each executed step: without a bound one
//          line asks for any amount of memory.
// Next     text_parse.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "plan/schedule/program.hpp"

namespace weft::plan {

struct TextNeed {
    explicit TextNeed(std::size_t text_bytes);

    /// Whether these programs are within the bounds; `lines`: where each of them starts.
    [[nodiscard]] base::Result<void> check(std::span<const Program> programs,
                                           std::span<const std::size_t> lines) const;

    std::size_t bytes;    ///< of the text
    std::uint64_t units;  ///< of all vectors of all ranks
    std::uint64_t work;   ///< executed steps, and the units that they handle
};

}  // namespace weft::plan
