// SPDX-License-Identifier: BSD-3-Clause
#include "run/job/cards.hpp"

#include <cstring>

namespace weft::run {

namespace {

using Bytes = std::vector<std::byte>;

void append(Bytes& out, const void* data, std::size_t bytes) {
    const auto* from = static_cast<const std::byte*>(data);
    out.insert(out.end(), from, from + bytes);
}

/// Header of a published mapping verdict.
struct MappingHead {
    std::uint64_t bytes = 0;  ///< size of the verdict
    std::int64_t error = 0;   ///< errno of kernel copies; 0: success
};

}  // namespace

std::vector<std::byte> to_bytes(const BusinessCard& card) {
    Bytes out;
    append(out, static_cast<const RankFacts*>(&card), sizeof(RankFacts));
    append(out, card.settings.data(), card.settings.size());
    return out;
}

base::Result<BusinessCard> business_card_from(std::span<const std::byte> bytes, Rank rank) {
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

std::vector<std::byte> to_bytes(const MappingCard& card) {
    const Bytes verdict = card.verdict.to_bytes();
    const MappingHead head{verdict.size(), card.copy_error};
    Bytes out;
    append(out, &head, sizeof head);
    append(out, verdict.data(), verdict.size());
    append(out, card.address.data(), card.address.size());
    return out;
}

base::Result<MappingCard> mapping_card_from(std::span<const std::byte> bytes, Rank rank,
                                            Rank size) {
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
