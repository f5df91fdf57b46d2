// SPDX-License-Identifier: BSD-3-Clause
// net.cpp - TCP sockets with reliable datagrams built in (libfabric 1.16 and 1.17 only; later
// versions call it "tcp").
//
// Facts, measured with libfabric 1.17 on Linux (tests/providers/behaviour_test.cpp) unless said
// otherwise:
// - One stream per pair, from which the target stores in the order of the stream while it polls. So
//   a flag that is posted after its data lands after it, whatever the places: 0 of 92000 came
//   early, half of them on a busy machine.
// - Write order is granted without being asked for and costs nothing.
// - Data lands only while the target polls, although it reports automatic progress. Completion at
//   the origin comes before that (1285 of 1291).
// - With FI_DELIVERY_COMPLETE completion waits for an acknowledgement that the target sends when it
//   has stored the data: none with a passive target, and 0 of 565 before the data.
// - A stream can be cut anywhere, so a poll can leave a word half written. Its bytes are stored in
//   ascending order by the thread that polls, so a tag, in the upper half, is never there before
//   its data.
// - No fence. Atomics are offered and return ENOSYS; nothing here uses them.
// - Writes without a byte carry their immediate.
// - One write takes four sources to four places: its header lists them.
// - Small puts to a peer that has died end in an error without a context, and do no other harm; so
//   they may be unsignaled (tests/providers/storm_test.cpp).
#include "providers/profiles.hpp"

namespace weft::providers {

const link::Profile& net_profile() {
    static constexpr link::KnownBug kBugs[] = {
        {"1.17", "atomic operations are offered and return ENOSYS: not used"},
    };
    static constexpr link::Profile kProfile{
        .provider = "net",
        .needs = "libfabric 1.16 or 1.17, whose name for tcp it is",
        .cells = {true, "a stream, stored in its order: a word's data is there before its tag"},
        .delivery = {true, "the target acknowledges what it has stored"},
        .fence = {false, "it has none"},
        .ordered = {true, "one stream for each pair of ranks, stored in its order"},
        .offload = {false, "it has no triggered operations"},
        .asks_write_order = true,
        .target_must_progress = true,
        .writes_empty = true,
        .writes_two_places = true,
        .copied_bytes = 8192,
        .paced_bytes = std::size_t{512} << 10,
        .unsignaled_small_puts = true,
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
