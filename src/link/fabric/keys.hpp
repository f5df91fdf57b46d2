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

#include "base/random.hpp"
#include "base/result.hpp"

namespace weft::link {

/// The key by which a rank's writes are counted, by one of its counters at a target whose memory
/// has that key. Never 0 or all ones.
[[nodiscard]] constexpr std::uint64_t counted_key(std::uint64_t key, std::uint64_t origin,
                                                  std::uint64_t counter) {
    return (base::mix(key ^ (origin << 8 | counter) * 0x9e37'79b9'7f4a'7c15) >> 1) | 1U;
}

/// `count` different keys of so many bytes; none is 0 or all ones. Small: 1, 2, ...
[[nodiscard]] base::Result<std::vector<std::uint64_t>> draw_keys(std::size_t count,
                                                                 std::size_t key_bytes, bool small);

/// The same, after those that are there already: until there are `count`.
[[nodiscard]] base::Result<void> add_keys(std::vector<std::uint64_t>& keys, std::size_t count,
                                          std::size_t key_bytes, bool small);

}  // namespace weft::link
