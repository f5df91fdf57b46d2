// SPDX-License-Identifier: BSD-3-Clause
// net.cpp - TCP sockets with built-in reliable datagrams. The provider has this name in libfabric
// 1.16 and 1.17; later versions call it "tcp".
//
// Facts, measured with libfabric 1.17 on Linux (tests/system/providers/behaviour_test.cpp)
// unless stated otherwise:
// - Each pair has one stream, and the target stores its data in order while it polls. So a flag
//   that is posted after its data is stored after the data, at any address: 0 of 92000 flags
//   arrived early, half of them on a busy machine.
// - Write order is granted without a request and costs nothing.
// - Data arrives only while the target polls, although the provider reports automatic progress.
//   Completion at the origin is earlier (1285 of 1291 writes).
// - With FI_DELIVERY_COMPLETE, completion waits for an acknowledgement that the target sends after
//   it has stored the data. While the target did not poll, no write completed, and 0 of 565 writes
//   completed before the data was stored.
// - A stream can be cut at any byte, so a poll can leave a word partly written. The polling thread
//   stores bytes in ascending order. A tag is in the upper half of its word, so it never arrives
//   before its data.
// - No fence. Atomics are offered but return ENOSYS; weft does not use them.
// - A write without data may have an immediate.
// - One write can have four sources and four targets: its header lists them.
// - Small puts to a dead peer end in an error without a context and do no other harm, so they may
//   be posted without a completion (tests/system/providers/storm_test.cpp).
#include "providers/profiles.hpp"

namespace weft::providers {

const link::Profile& net_profile() {
    static constexpr link::KnownBug kBugs[] = {
        {"1.17", "atomic operations are offered and return ENOSYS: not used"},
    };
    static constexpr link::Profile kProfile{
        .provider = "net",
        .needs = "libfabric 1.16 or 1.17, which call tcp by this name",
        .cells = {true, "a stream is stored in order, so a word's data is stored before its tag"},
        .delivery = {true, "the target acknowledges a write after it has stored the data"},
        .fence = {false, "it has no fence"},
        .ordered = {true, "each pair of ranks has one stream, which is stored in order"},
        .asks_write_order = true,
        .target_must_progress = true,
        .writes_empty = true,
        .writes_two_places = true,
        .copied_bytes = 8192,
        .paced_bytes = std::size_t{512} << 10,
        .unsignaled_small_puts = true,
        .several_cards = true,
        .declared = {.internet_address = true,
                     .key_bytes = 8,
                     .inject_bytes = 128,
                     .message_bytes_max = ~std::size_t{0},
                     .immediate_bytes = 8,
                     .ordered_bytes = ~std::size_t{0},
                     .delivery = true},
        .declared_by = "libfabric 1.17, recorded",
        .bugs = kBugs,
        .cost = {.latency_ns = 500,
                 .issue_ns = 3500,
                 .receive_ns = 2000,
                 .byte_fs = 127000,
                 .receive_byte_fs = 64000,
                 .turn_ns = 4500,
                 .source = "measured on one host"},
    };
    return kProfile;
}

}  // namespace weft::providers
