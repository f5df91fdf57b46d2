// SPDX-License-Identifier: BSD-3-Clause
// card.hpp - what a port tells its peers: how to reach it and where they may write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace weft::link {

/// A region as peers address it.
struct RemoteRegion {
    std::uint64_t base = 0;  ///< added to offsets: an address, or 0 where offsets are used
    std::uint64_t bytes = 0;
    std::uint64_t key = 0;
};

struct Card {
    std::uint32_t provider = 0;  ///< provider_hash(): both ends must use the same provider
    RemoteRegion memory;
    RemoteRegion landing;  ///< a word that empty puts may write
    std::span<const std::byte> endpoint;
};

[[nodiscard]] std::uint32_t provider_hash(std::string_view provider);
[[nodiscard]] std::vector<std::byte> encode_card(const Card& card);
/// The endpoint of the result points into `bytes`.
[[nodiscard]] base::Result<Card> decode_card(std::span<const std::byte> bytes);

}  // namespace weft::link
