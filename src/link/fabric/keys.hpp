// SPDX-License-Identifier: BSD-3-Clause
// keys.hpp - the registration keys of one endpoint, where they are chosen here.
//
// Idea     Who knows the address and the key of a region may write it: any process of the host, and
//          with several hosts any that reaches the network. So keys are random, as wide as the
//          provider takes them; ranks learn them from cards.
// Why      Few providers demand small keys: those with keys of less than four bytes, of which there
//          are too few to be drawn at random, and those whose profile says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.hpp"

namespace weft::link {

/// `count` different keys of so many bytes; none is 0 or all ones. Small: 1, 2, ...
[[nodiscard]] base::Result<std::vector<std::uint64_t>> draw_keys(std::size_t count,
                                                                 std::size_t key_bytes, bool small);

}  // namespace weft::link
