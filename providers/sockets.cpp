// SPDX-License-Identifier: BSD-3-Clause
// sockets.cpp - the old TCP provider: slow and deprecated, but it has all features that weft uses.
//
// Facts, measured with libfabric 1.17 on Linux (tests/system/providers/behaviour_test.cpp)
// unless stated otherwise:
// - weft requests manual progress. Data then arrives only while the target polls, and no write
//   completes before its data is stored (0 of 1455, with and without FI_DELIVERY_COMPLETE). An
//   internal thread makes connections; with automatic progress it also stores data.
// - Fences are granted on request, and they work (0 of 1345 flags arrived before their data).
// - Write order is granted, and 0 of 4000 flags arrived before their data. But a put-based
//   barrier that relies on this order has failed (GASNet, bug 4427), so the profile does not
//   promise order between addresses.
// - The origin's completion of a write with an immediate also has the flag FI_REMOTE_CQ_DATA.
// - A counter bound to a region counts remote writes after their data is stored.
// - A write without data may have an immediate. Registration is not required.
#include "providers/profiles.hpp"

namespace weft::providers {

const link::Profile& sockets_profile() {
    static constexpr link::KnownBug kBugs[] = {
        {"all",
         "a barrier that relied on its write order has failed (GASNet, bug 4427): order is not "
         "used"},
    };
    static constexpr link::Setting kSettings[] = {
        {"FI_SOCKETS_PE_WAITTIME", "0", nullptr,
         "the internal thread would spin for 10 ms before it sleeps, and take a processor from the "
         "ranks of the host (measured)"},
    };
    static constexpr link::Profile kProfile{
        .provider = "sockets",
        .needs = "libfabric with sockets, and a network interface that is up (ip link)",
        .cells = {false, "an internal thread stores data while another thread polls"},
        .delivery = {true, "the target acknowledges a write after it has stored the data"},
        .fence = {true, "a fenced write waits until earlier writes are acknowledged"},
        .ordered = {false, "a barrier that relied on its order has failed (GASNet, bug 4427)"},
        .counter = {true, "it counts a write after its data is stored"},
        .asks_fence = true,
        .target_must_progress = true,
        .writes_empty = true,
        .declared = {.internet_address = true,
                     .key_bytes = 8,
                     .inject_bytes = 255,
                     .message_bytes_max = ~std::size_t{0} - 4096,
                     .immediate_bytes = 8,
                     .ordered_bytes = ~std::size_t{0} - 4096,
                     .fence = true,
                     .counters = true,
                     .delivery = true},
        .declared_by = "libfabric 1.17, recorded",
        .bugs = kBugs,
        .cost = {.latency_ns = 10000,
                 .issue_ns = 3500,
                 .receive_ns = 3000,
                 .byte_fs = 1000000,
                 .turn_ns = 4500,
                 .source = "measured on one host"},
        .settings = kSettings,
    };
    return kProfile;
}

}  // namespace weft::providers
