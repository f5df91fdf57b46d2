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

/// Head of a published mapping verdict.
struct MappingHead {
    std::uint64_t bytes = 0;  ///< of the verdict
    std::int64_t error = 0;   ///< errno of the kernel's copies
};

}  // namespace

std::vector<std::byte> to_bytes(const BusinessCard& card) {
    Bytes out;
    append(out, card.segment.to_bytes().data(), sizeof(link::SegmentCard));
    append(out, &card.cpus, sizeof card.cpus);
    append(out, &card.version, sizeof card.version);
    append(out, &card.probe, sizeof card.probe);
    append(out, &card.host, sizeof card.host);
    append(out, card.settings.data(), card.settings.size());
    return out;
}

base::Result<BusinessCard> business_card_from(std::span<const std::byte> bytes, Rank rank) {
    constexpr std::size_t kFixed = sizeof(link::SegmentCard) + sizeof(cpu_set_t) +
                                   2 * sizeof(std::uint64_t) + sizeof(HostFacts);
    if (bytes.size() < kFixed)
        return base::fail(Status::environment,
                          "the card of rank {} has {} bytes, expected {} or more: it runs another "
                          "version of this library",
                          rank, bytes.size(), kFixed);
    auto segment = link::SegmentCard::from_bytes(bytes.first(sizeof(link::SegmentCard)));
    if (!segment) return segment.failure().within(fmt::format("card of rank {}", rank));
    BusinessCard card;
    card.segment = *segment;
    const std::byte* at = bytes.data() + sizeof(link::SegmentCard);
    std::memcpy(&card.cpus, at, sizeof card.cpus);
    at += sizeof card.cpus;
    std::memcpy(&card.version, at, sizeof card.version);
    at += sizeof card.version;
    std::memcpy(&card.probe, at, sizeof card.probe);
    std::memcpy(&card.host, at + sizeof card.probe, sizeof card.host);
    if (card.host.address_count > HostFacts::kAddressesMax)
        return base::fail(Status::environment, "the card of rank {} has {} addresses, at most {}",
                          rank, card.host.address_count, HostFacts::kAddressesMax);
    const auto* text = reinterpret_cast<const char*>(bytes.data() + kFixed);
    card.settings.assign(text, bytes.size() - kFixed);
    return card;
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
    if (bytes.size() < sizeof head)
        return base::fail(Status::environment, "the mapping verdict of rank {} is cut off", rank);
    std::memcpy(&head, bytes.data(), sizeof head);
    const auto rest = bytes.subspan(sizeof head);
    if (head.bytes > rest.size())
        return base::fail(Status::environment, "the mapping verdict of rank {} is cut off", rank);
    auto verdict = link::MapVerdict::from_bytes(rest.first(head.bytes));
    if (!verdict) return verdict.failure();
    // Ranks are ascending and include its own, so the last one is the largest.
    if (verdict->rank != rank || verdict->mapped.back() >= size)
        return base::fail(Status::environment,
                          "the mapping verdict of rank {} is that of rank {}, and names ranks up "
                          "to {} of {}",
                          rank, verdict->rank, verdict->mapped.back(), size);
    return MappingCard{*std::move(verdict), head.error, rest.subspan(head.bytes)};
}

}  // namespace weft::run
