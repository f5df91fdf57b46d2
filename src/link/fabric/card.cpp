// SPDX-License-Identifier: BSD-3-Clause
#include "link/fabric/card.hpp"

#include <cstring>

#include "link/fabric/fabric.hpp"

namespace weft::link {
namespace {

constexpr std::uint64_t kMagic = 0x77665633;  // "wfV3": the format of cards, with its version

/// First bytes of an encoded card. The endpoint's address follows.
struct Header {
    std::uint64_t magic = 0;
    std::uint64_t endpoint_bytes = 0;
    PortCard card;  ///< with an empty endpoint
};

}  // namespace

std::uint32_t provider_hash(std::string_view provider) {
    std::uint32_t hash = 2166136261U;  // FNV-1a
    for (const char c : provider) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return hash;
}

std::vector<std::byte> encode_card(const PortCard& card) {
    Header header{kMagic, card.endpoint.size(), card};
    header.card.endpoint = {};
    std::vector<std::byte> bytes(sizeof header + card.endpoint.size());
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, card.endpoint.data(), card.endpoint.size());
    return bytes;
}

base::Result<std::vector<std::span<const std::byte>>> split_cards(
    std::span<const std::byte> bytes) {
    std::vector<std::span<const std::byte>> cards;
    do {
        Header header{};
        if (bytes.size() < sizeof header)
            return base::fail(Status::peer,
                              "the fabric address has {} bytes, at least {} are expected",
                              bytes.size(), sizeof header);
        std::memcpy(&header, bytes.data(), sizeof header);
        if (header.magic != kMagic || header.endpoint_bytes > bytes.size() - sizeof header)
            return base::fail(Status::peer,
                              "the fabric address has an unknown format; run the same version of "
                              "weft on all ranks");
        cards.push_back(bytes.first(sizeof header + header.endpoint_bytes));
        bytes = bytes.subspan(cards.back().size());
    } while (!bytes.empty());
    return cards;
}

base::Result<PortCard> decode_card(std::span<const std::byte> bytes) {
    const auto first = WEFT_TRY(split_cards(bytes)).front();
    Header header{};
    std::memcpy(&header, first.data(), sizeof header);
    header.card.endpoint = first.subspan(sizeof header);
    return header.card;
}

base::Result<PortCard> accept_card(Rank rank, std::span<const std::byte> bytes,
                                   std::span<const std::byte> own, std::string_view provider,
                                   bool text_addresses) {
    const auto decoded = decode_card(bytes);
    if (!decoded) return decoded.failure().within(fmt::format("rank {}", rank));
    const PortCard& card = *decoded;
    const PortCard mine = *decode_card(own);
    if (card.provider != mine.provider)
        return base::fail(Status::environment,
                          "rank {} uses another libfabric provider than this rank, which uses "
                          "\"{}\": set WEFT_PROVIDER to the same value on all ranks",
                          rank, provider);
    if (card.notify != mine.notify) {
        const NotifyPlan plan{static_cast<Notify>(mine.notify >> 8),
                              static_cast<Notify>(mine.notify & 0xff)};
        return base::fail(Status::environment,
                          "rank {} uses another notify strategy than this rank, which uses {} "
                          "(provider \"{}\"): set WEFT_NOTIFY to the same value on all ranks",
                          rank, to_text(plan), provider);
    }
    const std::span<const std::byte> endpoint = card.endpoint;
    const bool complete = text_addresses ? !endpoint.empty() && endpoint.back() == std::byte{0}
                                         : endpoint.size() == mine.endpoint.size();
    const std::uint64_t keys_end = card.section_keys + kSectionsMax * sizeof(std::uint64_t);
    if (mine.section_keys != 0 && (card.section_keys == 0 || keys_end > card.memory.bytes))
        return base::fail(Status::peer,
                          "rank {} has its table of keys at offset {}, outside its {} bytes of "
                          "memory",
                          rank, card.section_keys, card.memory.bytes);
    if (!complete || card.memory.bytes < mine.memory.bytes ||
        card.landing.bytes < mine.landing.bytes)
        return base::fail(Status::peer,
                          "rank {} has a fabric address of {} bytes, {} bytes of memory and {} "
                          "for empty puts; this rank has {}, {} and {}",
                          rank, endpoint.size(), card.memory.bytes, card.landing.bytes,
                          mine.endpoint.size(), mine.memory.bytes, mine.landing.bytes);
    return card;
}

}  // namespace weft::link
