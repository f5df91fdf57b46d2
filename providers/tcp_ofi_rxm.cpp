// SPDX-License-Identifier: BSD-3-Clause
// tcp_ofi_rxm.cpp - TCP sockets under the layer that makes reliable datagrams of connections.
//
// Facts, measured with libfabric 1.17 on Linux unless said otherwise:
// - Write order is granted for remote writes without atomics and costs nothing: one stream per
//   pair, from which the target stores in the order of the stream while it polls. So a flag that is
//   posted after its data lands after it, whatever the places.
// - Data lands only while the target polls, although completion at the origin comes before (857 of
//   932). With FI_DELIVERY_COMPLETE it waits until the target has stored the data: none with a
//   passive target, and 0 of 448 before the data.
// - A stream can be cut anywhere, so a poll can leave a word half written. Its bytes are stored in
//   ascending order by the thread that polls, so a tag, in the upper half, is never there before
//   its data.
// - Cells are better than immediates for small payloads: 6.8 us against 7.8 for an allreduce of 8
//   or 48 bytes between two ranks, 6.6 against 7.7 for a barrier (medians of 9 interleaved rounds
//   on loopback): the target takes no completion. Ordered flags gain as much above 48 bytes (11.5
//   us against 12.8 for 4 KiB), but there immediates, which libfabric itself promises, stay the
//   default.
// - No fence.
// - Writes without a byte carry their immediate.
// - One write takes four sources to four places: its header lists them.
// - Registration costs nothing and no source needs it.
// - Enabling an endpoint fills a pool of receive buffers for messages, 27 ms at 16 KiB each. Puts
//   do not use them: with 256 bytes each it takes 2 ms.
// - Small puts must not be unsignaled: if the peer dies under one, the layer follows the null
//   context of its error completion and the process dies, too (tests/providers/storm_test.cpp, 8 of
//   8 runs).
// - The first puts to a peer are refused with FI_EAGAIN until both sides have polled.
#include "providers/profiles.hpp"

namespace weft::providers {

const link::Profile& tcp_ofi_rxm_profile() {
    static constexpr link::EnvironmentDefault kEnvironment[] = {
        {"FI_OFI_RXM_BUFFER_SIZE", "256"},
    };
    static constexpr link::KnownBug kBugs[] = {
        {"1.17",
         "a small put without a completion crashes the process if its peer dies "
         "(tests/providers/storm_test.cpp): not used"},
    };
    static constexpr link::Profile kProfile{
        .provider = "tcp;ofi_rxm",
        .needs = "libfabric with tcp and ofi_rxm, and a network interface that is up (ip link)",
        .cells = {true, "a stream, stored in its order: a word's data is there before its tag"},
        .delivery = {true, "the target acknowledges what it has stored"},
        .fence = {false, "it has none"},
        .ordered = {true, "one stream for each pair of ranks, stored in its order"},
        .offload = {false, "it has no triggered operations"},
        .prefers_cells = true,
        .asks_write_order = true,
        .target_must_progress = true,
        .writes_empty = true,
        .writes_two_places = true,
        .copied_bytes = 8192,
        .paced_bytes = std::size_t{512} << 10,
        .declared = {.internet_address = true,
                     .key_bytes = 8,
                     .inject_bytes = 64,
                     .message_bytes_max = ~std::size_t{0},
                     .immediate_bytes = 8,
                     .ordered_bytes = ~std::size_t{0},
                     .delivery = true},
        .declared_by = "libfabric 1.17, recorded",
        .bugs = kBugs,
        .cost = {.latency_ns = 1950,
                 .issue_ns = 3450,
                 .receive_ns = 3000,
                 .byte_fs = 143000,
                 .receive_byte_fs = 72000,
                 .turn_ns = 4500,
                 .source = "measured on one host"},
        .environment = kEnvironment,
    };
    return kProfile;
}

}  // namespace weft::providers
