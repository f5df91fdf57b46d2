// SPDX-License-Identifier: BSD-3-Clause
// udp_ofi_rxd.cpp - UDP datagrams with the layer rxd, which makes them reliable.
//
// Facts, measured with libfabric 1.17 on Linux (tests/system/providers/behaviour_test.cpp)
// unless stated otherwise:
// - A write of up to 1256 bytes is one packet, stored in one piece while the target polls, so
//   words are whole.
// - It is slow: 0.4 GB/s, 9 us for a small write.
// - While the target does not poll, no data arrives and no write completes. Even without
//   FI_DELIVERY_COMPLETE, completions followed the data (0 of 378 before it), because each is an
//   acknowledgement of the target. Other releases reportedly complete earlier
//   (open-mpi/ompi#7982).
// - A dead peer does no harm, but fi_close then takes three seconds.
// - Write order is granted, and 0 of 1622 flags arrived before their data. But a put-based
//   barrier that relies on this order has failed (GASNet, bug 4427), so the profile does not
//   promise order between addresses.
// - No fence. A write without data may have an immediate. Registration is not required.
#include "providers/profiles.hpp"

namespace weft::providers {

const link::Profile& udp_ofi_rxd_profile() {
    static constexpr link::KnownBug kBugs[] = {
        {"all",
         "a barrier that relied on its write order has failed (GASNet, bug 4427): order is not "
         "used"},
    };
    static constexpr link::Profile kProfile{
        .provider = "udp;ofi_rxd",
        .needs = "libfabric with udp and ofi_rxd, and a network interface that is up (ip link)",
        .cells = {true, "a cell is one packet, stored in one piece by the rank that polls"},
        .delivery = {true, "the target acknowledges a write after it has stored the data"},
        .fence = {false, "it has no fence"},
        .ordered = {false, "a barrier that relied on its order has failed (GASNet, bug 4427)"},
        .whole_words = true,
        .target_must_progress = true,
        .writes_empty = true,
        .declared = {.internet_address = true,
                     .key_bytes = 8,
                     .inject_bytes = 1256,
                     .message_bytes_max = ~std::size_t{0},
                     .immediate_bytes = 8,
                     .ordered_bytes = ~std::size_t{0},
                     .delivery = true},
        .declared_by = "libfabric 1.17, recorded",
        .bugs = kBugs,
        .cost = {.latency_ns = 5700,
                 .issue_ns = 2900,
                 .receive_ns = 2900,
                 .byte_fs = 2380000,
                 .turn_ns = 4500,
                 .source = "measured on one host"},
    };
    return kProfile;
}

}  // namespace weft::providers
