// SPDX-License-Identifier: BSD-3-Clause
// cards.hpp - records that ranks publish at start-up, and their conversion to and from bytes.
//
// Holds    Records of other ranks are checked: lengths, ranks and the publisher must be valid.
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
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

/// Record that a rank publishes when it has mapped its local peers.
struct MappingCard {
    link::MapVerdict verdict;            ///< the ranks that this rank has mapped
    std::int64_t copy_error = 0;         ///< errno of kernel copies from mapped ranks; 0: success
    std::span<const std::byte> address;  ///< network address; empty without a network
};

/// Header of a published mapping card.
struct MappingHead {
    std::uint64_t bytes = 0;  ///< size of the verdict
    std::int64_t error = 0;   ///< errno of kernel copies; 0: success
};

[[nodiscard]] inline std::vector<std::byte> joined(
    std::initializer_list<std::span<const std::byte>> parts) {
    std::vector<std::byte> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

[[nodiscard]] inline std::vector<std::byte> to_bytes(const BusinessCard& card) {
    const RankFacts& facts = card;
    return joined({std::as_bytes(std::span(&facts, 1)), std::as_bytes(std::span(card.settings))});
}

[[nodiscard]] inline base::Result<BusinessCard> business_card_from(std::span<const std::byte> bytes,
                                                                   Rank rank) {
    RankFacts facts;
    if (bytes.size() < sizeof facts)
        return base::fail(Status::environment,
                          "the card of rank {} has {} bytes, expected {} or more: it runs another "
                          "version of this library",
                          rank, bytes.size(), sizeof facts);
    std::memcpy(&facts, bytes.data(), sizeof facts);
    const auto segment = link::SegmentCard::from_bytes(bytes.first(sizeof facts.segment));
    if (!segment) return segment.failure().within(fmt::format("card of rank {}", rank));
    if (facts.host.address_count > HostFacts::kAddressesMax)
        return base::fail(Status::environment,
                          "the card of rank {} has {} addresses, expected at most {}", rank,
                          facts.host.address_count, HostFacts::kAddressesMax);
    const auto settings = bytes.subspan(sizeof facts);
    return BusinessCard{facts, {reinterpret_cast<const char*>(settings.data()), settings.size()}};
}

[[nodiscard]] inline std::vector<std::byte> to_bytes(const MappingCard& card) {
    const auto verdict = card.verdict.to_bytes();
    const MappingHead head{verdict.size(), card.copy_error};
    return joined({std::as_bytes(std::span(&head, 1)), verdict, card.address});
}

/// Returns the card of `rank`, in a job of `size` ranks. Its address points into `bytes`.
[[nodiscard]] inline base::Result<MappingCard> mapping_card_from(std::span<const std::byte> bytes,
                                                                 Rank rank, Rank size) {
    MappingHead head;
    if (bytes.size() >= sizeof head) std::memcpy(&head, bytes.data(), sizeof head);
    if (bytes.size() < sizeof head || head.bytes > bytes.size() - sizeof head)
        return base::fail(Status::environment, "the mapping verdict of rank {} is cut off", rank);
    const auto rest = bytes.subspan(sizeof head);
    auto verdict = WEFT_TRY(link::MapVerdict::from_bytes(rest.first(head.bytes)));
    // `mapped` is ascending and contains at least the publisher, so back() is its largest rank.
    if (verdict.rank != rank || verdict.mapped.back() >= size)
        return base::fail(
            Status::environment,
            "the mapping verdict of rank {} names rank {} as its publisher, and ranks "
            "up to {} of {}",
            rank, verdict.rank, verdict.mapped.back(), size);
    return MappingCard{std::move(verdict), head.error, rest.subspan(head.bytes)};
}

}  // namespace weft::run
