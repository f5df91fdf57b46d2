// SPDX-License-Identifier: BSD-3-Clause
// card.hpp - data that a port publishes to its peers: its address, and the memory to write to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/put.hpp"
#include "base/result.hpp"
#include "link/fabric/notify.hpp"

namespace weft::link {

using base::RemoteRegion;

struct PortCard {
    std::uint32_t provider = 0;           ///< provider_hash(), which must be equal on all ranks
    std::uint32_t notify = 0;             ///< notify_code(), which must be equal on all ranks
    RemoteRegion memory;                  ///< the segment, with the key of its first section
    RemoteRegion landing;                 ///< target of puts without data; never read
    std::span<const std::byte> endpoint;  ///< libfabric address of the endpoint
    std::uint64_t section_keys = 0;       ///< FabricMemory::section_keys
};

[[nodiscard]] std::uint32_t provider_hash(std::string_view provider);
[[nodiscard]] constexpr std::uint32_t notify_code(NotifyPlan plan) {
    return static_cast<std::uint32_t>(plan.small) << 8 | static_cast<std::uint32_t>(plan.large);
}
[[nodiscard]] std::vector<std::byte> encode_card(const PortCard& card);
/// Splits a port's address() into its cards: one for each NIC that the port uses.
base::Result<std::vector<std::span<const std::byte>>> split_cards(std::span<const std::byte> bytes);
/// Returns the first card. Its endpoint points into `bytes`.
base::Result<PortCard> decode_card(std::span<const std::byte> bytes);
/// Decodes the first card in a peer's `bytes`, and compares it with this rank's card, `own`. Fails
/// if the two ranks cannot communicate. text_addresses: endpoint addresses are text of any length.
base::Result<PortCard> accept_card(Rank rank, std::span<const std::byte> bytes,
                                   std::span<const std::byte> own, std::string_view provider,
                                   bool text_addresses);

}  // namespace weft::link
