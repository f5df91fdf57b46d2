// SPDX-License-Identifier: BSD-3-Clause
// grant.cpp - accepts or rejects an offer of libfabric. Does not call libfabric, so tests can use
// recorded attributes without hardware.
#include <fmt/ranges.h>

#include <initializer_list>

#include "link/fabric/discover.hpp"

namespace weft::link {
namespace {

struct NamedBit {
    std::uint64_t bit;
    const char* name;
    bool handled;
};

constexpr NamedBit kMrModes[] = {
    {FI_MR_LOCAL, "FI_MR_LOCAL", true},
    {FI_MR_VIRT_ADDR, "FI_MR_VIRT_ADDR", true},
    {FI_MR_ALLOCATED, "FI_MR_ALLOCATED", true},
    {FI_MR_PROV_KEY, "FI_MR_PROV_KEY", true},
    {FI_MR_ENDPOINT, "FI_MR_ENDPOINT", true},
    {FI_MR_RAW, "FI_MR_RAW", false},
    {FI_MR_MMU_NOTIFY, "FI_MR_MMU_NOTIFY", false},
    {FI_MR_RMA_EVENT, "FI_MR_RMA_EVENT", false},
    {FI_MR_HMEM, "FI_MR_HMEM", false},
    {FI_MR_COLLECTIVE, "FI_MR_COLLECTIVE", false},
};

// Values from before registration modes were single bits. Only a defective provider offers them.
// The code has their numbers, because headers of libfabric 2 deprecate or lack the names.
constexpr NamedBit kMrModesOld[] = {
    {1U << 0, "FI_MR_BASIC", false},
    {1U << 1, "FI_MR_SCALABLE", false},
};
constexpr std::uint64_t kLocalMr = 1ULL << 55;
constexpr std::uint64_t kBufferedRecv = 1ULL << 51;

constexpr NamedBit kModes[] = {
    {FI_CONTEXT, "FI_CONTEXT", true},
    {FI_CONTEXT2, "FI_CONTEXT2", true},
    {FI_MSG_PREFIX, "FI_MSG_PREFIX", false},
    {FI_ASYNC_IOV, "FI_ASYNC_IOV", false},
    {FI_RX_CQ_DATA, "FI_RX_CQ_DATA", true},
    {kLocalMr, "FI_LOCAL_MR", false},
    {FI_NOTIFY_FLAGS_ONLY, "FI_NOTIFY_FLAGS_ONLY", false},
    {FI_RESTRICTED_COMP, "FI_RESTRICTED_COMP", false},
    {kBufferedRecv, "FI_BUFFERED_RECV", false},
};

std::uint64_t bits_of(std::span<const NamedBit> table, bool handled_only) {
    std::uint64_t bits = 0;
    for (const NamedBit& entry : table) {
        if (entry.handled || !handled_only) bits |= entry.bit;
    }
    return bits;
}

/// Adds the names of the bits in `bits` to `names`.
void name_bits(std::initializer_list<std::span<const NamedBit>> tables, std::uint64_t bits,
               std::vector<std::string>& names) {
    for (const auto& table : tables)
        for (const NamedBit& entry : table) {
            if ((bits & entry.bit) == 0) continue;
            names.emplace_back(entry.name);
            bits &= ~entry.bit;
        }
    if (bits != 0) names.push_back(fmt::format("bits {:#x}", bits));
}

/// Returns the names of modes that the offer demands and weft does not handle, or an empty text.
std::string unhandled_demands(const fi_info& offer) {
    std::vector<std::string> names;
    const auto mr = static_cast<std::uint32_t>(offer.domain_attr->mr_mode);
    name_bits({kMrModes, kMrModesOld}, mr & ~bits_of(kMrModes, true), names);
    name_bits({kModes}, offer.mode & ~bits_of(kModes, true), names);
    return fmt::format("{}", fmt::join(names, ", "));
}

bool is_internet(std::uint32_t format) {
    return format == FI_SOCKADDR || format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6;
}

}  // namespace

Modes handled_modes() {
    return {bits_of(kModes, true), static_cast<int>(bits_of(kMrModes, true))};
}

Modes all_modes() {
    return {bits_of(kModes, false), static_cast<int>(bits_of(kMrModes, false))};
}

base::Result<Grant> accept_offer(const fi_info& offer) {
    const auto refuse = [&](std::string_view what) {
        return base::fail(Status::unsupported, "provider \"{}\" (domain {}) {}",
                          offer.fabric_attr->prov_name, offer.domain_attr->name, what);
    };
    if (const std::string names = unhandled_demands(offer); !names.empty())
        return refuse(fmt::format("demands {}, which weft does not handle", names));
    if (offer.ep_attr->type != FI_EP_RDM)
        return refuse("offers no reliable datagram endpoint (FI_EP_RDM)");
    if ((offer.caps & FI_RMA) == 0) return refuse("offers no remote memory access (FI_RMA)");
    if (offer.ep_attr->max_msg_size < sizeof(std::uint64_t))
        return refuse(fmt::format("moves at most {} bytes in one operation (max_msg_size)",
                                  offer.ep_attr->max_msg_size));
    const int mr = offer.domain_attr->mr_mode;
    if ((mr & FI_MR_PROV_KEY) == 0 && offer.domain_attr->mr_key_size == 0)
        return refuse("accepts no registration keys (mr_key_size 0) and chooses none");
    if ((offer.mode & FI_RX_CQ_DATA) != 0 && (offer.caps & FI_MSG) == 0)
        return refuse(
            "demands a receive for each immediate (FI_RX_CQ_DATA) and offers no receives (FI_MSG)");
    const bool ordered = (offer.tx_attr->msg_order & (FI_ORDER_WAW | FI_ORDER_RMA_WAW)) != 0;
    return Grant{
        .virtual_addresses = (mr & FI_MR_VIRT_ADDR) != 0,
        .provider_keys = (mr & FI_MR_PROV_KEY) != 0,
        .local_registration = (mr & FI_MR_LOCAL) != 0,
        .endpoint_registration = (mr & FI_MR_ENDPOINT) != 0,
        .consumes_receives = (offer.mode & FI_RX_CQ_DATA) != 0,
        .internet_address = is_internet(offer.addr_format),
        .key_bytes = offer.domain_attr->mr_key_size,
        .inject_bytes = offer.tx_attr->inject_size,
        .message_bytes_max = offer.ep_attr->max_msg_size,
        .source_parts_max = offer.tx_attr->iov_limit,
        .target_parts_max = offer.tx_attr->rma_iov_limit,
        .immediate_bytes = offer.domain_attr->cq_data_size,
        .ordered_bytes = ordered ? offer.ep_attr->max_order_waw_size : 0,
        .fence = (offer.caps & FI_FENCE) != 0,
        .counters = (offer.caps & FI_RMA_EVENT) != 0,
        .delivery = (offer.tx_attr->op_flags & FI_DELIVERY_COMPLETE) != 0,
    };
}

}  // namespace weft::link
