// SPDX-License-Identifier: BSD-3-Clause
// cards.hpp - records that ranks publish at start-up, and their conversion to and from bytes.
//
// Holds    Records of other ranks are checked: lengths, ranks and the publisher must be valid.
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "link/shared/node_map.hpp"
#include "link/shared/segment.hpp"
#include "run/job/host_facts.hpp"

namespace weft::run {

/// Facts about a rank. Sent as bytes between ranks, so all ranks need an equal layout of it.
struct RankFacts {
    static constexpr std::uint64_t kVersion = 1;  ///< version of the format of exchanged data

    link::SegmentCard segment;
    cpu_set_t cpus{};  ///< processors that the rank may use
    std::uint64_t version = kVersion;
    std::uint64_t probe = 0;  ///< address in the rank's process of a copy of its segment's nonce
    HostFacts host;
};
static_assert(std::is_trivially_copyable_v<RankFacts>);

/// Record that a rank publishes first.
struct BusinessCard : RankFacts {
    std::string settings;  ///< settings that must be equal on all ranks
};
[[nodiscard]] std::vector<std::byte> to_bytes(const BusinessCard& card);
[[nodiscard]] base::Result<BusinessCard> business_card_from(std::span<const std::byte> bytes,
                                                            Rank rank);

/// Record that a rank publishes when it has mapped its local peers.
struct MappingCard {
    link::MapVerdict verdict;            ///< the ranks that this rank has mapped
    std::int64_t copy_error = 0;         ///< errno of kernel copies from mapped ranks; 0: success
    std::span<const std::byte> address;  ///< network address; empty without a network
};
[[nodiscard]] std::vector<std::byte> to_bytes(const MappingCard& card);
/// Returns the card of `rank`, in a job of `size` ranks. Its address points into `bytes`.
[[nodiscard]] base::Result<MappingCard> mapping_card_from(std::span<const std::byte> bytes,
                                                          Rank rank, Rank size);

}  // namespace weft::run
