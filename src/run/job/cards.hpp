// SPDX-License-Identifier: BSD-3-Clause
// cards.hpp - records that ranks publish at start-up, and their conversion to and from bytes.
//
// Holds    Records of other ranks are checked: every length and rank must be possible, and the
//          record must name its publisher.
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

/// Facts about a rank. Sent as bytes.
struct RankFacts {
    static constexpr std::uint64_t kVersion = 1;  ///< of all data that ranks exchange

    link::SegmentCard segment;
    cpu_set_t cpus{};
    std::uint64_t version = kVersion;
    std::uint64_t probe = 0;  ///< address of a word that holds the segment's nonce
    HostFacts host;
};
static_assert(std::is_trivially_copyable_v<RankFacts>);

/// Record that a rank publishes before the first fence.
struct BusinessCard : RankFacts {
    std::string settings;  ///< settings that must be equal on all ranks
};
[[nodiscard]] std::vector<std::byte> to_bytes(const BusinessCard& card);
[[nodiscard]] base::Result<BusinessCard> business_card_from(std::span<const std::byte> bytes,
                                                            Rank rank);

/// Record that a rank publishes before the second fence: the ranks that it has mapped, whether the
/// kernel copies from all of them, and its network address (empty without a network).
struct MappingCard {
    link::MapVerdict verdict;
    std::int64_t copy_error = 0;  ///< errno of the kernel's copies from these ranks; 0: success
    std::span<const std::byte> address;
};
[[nodiscard]] std::vector<std::byte> to_bytes(const MappingCard& card);
/// Returns the card. Its address points into `bytes`. `size` is the size of the job.
[[nodiscard]] base::Result<MappingCard> mapping_card_from(std::span<const std::byte> bytes,
                                                          Rank rank, Rank size);

}  // namespace weft::run
