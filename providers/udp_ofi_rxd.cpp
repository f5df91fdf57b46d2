// SPDX-License-Identifier: BSD-3-Clause
// udp_ofi_rxd.cpp - UDP datagrams under the layer that makes them reliable.
//
// Facts, measured with libfabric 1.17 on Linux (tests/providers/behaviour_test.cpp) unless said
// otherwise:
// - A write of up to 1256 bytes is one packet, stored in one piece while the target polls: words
//   are whole.
// - Slow: 0.4 GB/s, 9 us for a small write.
// - Nothing lands and nothing completes while the target does not poll. Completions, plain ones
//   too, came after the data (0 of 378 before it): here each is an acknowledgement of the target.
//   That is a finding about this release; others were said to complete earlier
//   (open-mpi/ompi#7982).
// - A dead peer does no harm, but closing takes three seconds then.
// - Write order is granted, and none of 1622 flags came before its data. A put-based barrier that
//   relies on it has failed all the same (GASNet, bug 4427), so order across places is not
//   promised.
// - No fence. Writes without a byte carry their immediate. No registration is demanded.
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
        .delivery = {true, "the target acknowledges what it has stored"},
        .fence = {false, "it has none"},
        .ordered = {false, "a barrier that relied on its order has failed (GASNet, bug 4427)"},
        .offload = {false, "it has no triggered operations"},
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
