// SPDX-License-Identifier: BSD-3-Clause
#include "link/fabric/card.hpp"

#include <cstring>

namespace weft::link {
namespace {

constexpr std::uint32_t kMagic = 0x77665632;  // "wfV2"

struct Header {
    std::uint32_t magic;
    std::uint32_t provider;
    std::uint32_t notify;
    std::uint32_t unused;
    RemoteRegion memory;
    RemoteRegion landing;
    std::uint64_t endpoint_bytes;
};

}  // namespace

std::uint32_t provider_hash(std::string_view provider) {
    std::uint32_t hash = 2166136261U;  // FNV-1a
    for (const char c : provider) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return hash;
}

std::vector<std::byte> encode_card(const PortCard& card) {
    const Header header{kMagic,      card.provider, card.notify,         0,
                        card.memory, card.landing,  card.endpoint.size()};
    std::vector<std::byte> bytes(sizeof header + card.endpoint.size());
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, card.endpoint.data(), card.endpoint.size());
    return bytes;
}

base::Result<PortCard> decode_card(std::span<const std::byte> bytes) {
    Header header{};
    if (bytes.size() < sizeof header) {
        return base::fail(Status::peer, "the fabric address has {} bytes, at least {} are expected",
                          bytes.size(), sizeof header);
    }
    std::memcpy(&header, bytes.data(), sizeof header);
    const auto endpoint = bytes.subspan(sizeof header);
    if (header.magic != kMagic || header.endpoint_bytes != endpoint.size()) {
        return base::fail(Status::peer,
                          "the fabric address is not one that this version of weft understands");
    }
    return PortCard{header.provider, header.notify, header.memory, header.landing, endpoint};
}

}  // namespace weft::link
