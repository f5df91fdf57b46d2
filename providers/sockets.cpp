// SPDX-License-Identifier: BSD-3-Clause
// sockets.cpp - the old TCP provider: slow, deprecated, and the one here that has every feature.
//
// Facts, measured with libfabric 1.17 on Linux (tests/providers/behaviour_test.cpp) unless said
// otherwise:
// - With manual progress, which is what is asked for, data lands only while the target polls, and
//   nothing completes before it has landed (0 of 1455, plain completions included). A thread of its
//   own makes connections, and with automatic progress would store the data, too.
// - Fences are granted if they are asked for, and hold (0 of 1345 flags came before their data).
// - Write order is granted, and none of 4000 flags came before its data. A put-based barrier that
//   relies on it has failed all the same (GASNet, bug 4427), so order across places is not
//   promised.
// - The origin's completion of a write with an immediate is flagged FI_REMOTE_CQ_DATA, too.
// - A counter that is bound to a region counts its remote writes when their data is stored.
// - With automatic progress its thread runs deferred work: writes and atomic operations start when
//   a counter has reached its threshold, read their source then, and may go to the own rank.
// - Writes without a byte carry their immediate. No registration is demanded.
#include "providers/profiles.hpp"

namespace weft::providers {

const link::Profile& sockets_profile() {
    static constexpr link::KnownBug kBugs[] = {
        {"all",
         "a barrier that relied on its write order has failed (GASNet, bug 4427): order is not "
         "used"},
    };
    // Its thread spins for so long (ms, 10 unless it is set) before it sleeps, and takes a
    // processor from the ranks of the host.
    static constexpr link::EnvironmentDefault kEnvironment[] = {{"FI_SOCKETS_PE_WAITTIME", "0"}};
    static constexpr link::Profile kProfile{
        .provider = "sockets",
        .needs = "libfabric 1.x with sockets, and a network interface that is up (ip link)",
        .cells = {false, "a thread of its own stores while another one polls"},
        .delivery = {true, "the target acknowledges what it has stored"},
        .fence = {true, "a fenced write waits until earlier ones are acknowledged"},
        .ordered = {false, "a barrier that relied on its order has failed (GASNet, bug 4427)"},
        .counter = {true, "it counts a write when it has stored its data"},
        .offload = {true, "a thread of its own starts what is queued"},
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
        .environment = kEnvironment,
    };
    return kProfile;
}

}  // namespace weft::providers
