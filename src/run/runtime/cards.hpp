// SPDX-License-Identifier: BSD-3-Clause
// cards.hpp - what ranks publish at start-up, as bytes and back.
//
// Idea     Two records: the business card before the first fence, the mapping card before the
//          second. Each carries the length of what it holds.
// Holds    Bytes of other ranks are not believed: a record is taken only if every length and every
//          rank in it is possible, and it names the rank that has published it.
// Next     job.cpp for who publishes them; link/shared for their parts.
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
#include "run/runtime/surroundings.hpp"

namespace weft::run {

/// What a rank publishes before the first fence.
struct BusinessCard {
    static constexpr std::uint64_t kVersion = 1;  ///< of all that crosses the wire

    link::SegmentCard segment;
    cpu_set_t cpus{};
    std::uint64_t version = kVersion;
    std::uint64_t probe = 0;  ///< address of a word that is the segment's nonce
    Surroundings around;
    std::string settings;  ///< those that all ranks must agree about
};
[[nodiscard]] std::vector<std::byte> to_bytes(const BusinessCard& card);
[[nodiscard]] base::Result<BusinessCard> business_card_from(std::span<const std::byte> bytes,
                                                            Rank rank);

/// What a rank publishes before the second one: whom it has mapped, whether the kernel copies from
/// all of these, and how it is reached over the network (nothing without one).
struct MappingCard {
    link::MapVerdict verdict;
    std::int64_t copy_error = 0;  ///< errno of the kernel's copies from these; 0: none
    std::span<const std::byte> address;
};
[[nodiscard]] std::vector<std::byte> to_bytes(const MappingCard& card);
/// The address of the result points into `bytes`. size: of the job.
[[nodiscard]] base::Result<MappingCard> mapping_card_from(std::span<const std::byte> bytes,
                                                          Rank rank, Rank size);

}  // namespace weft::run
