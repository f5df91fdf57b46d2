// SPDX-License-Identifier: BSD-3-Clause
// tcp_ofi_rxm.cpp - TCP sockets with the layer rxm, which provides reliable datagrams.
//
// Facts, measured with libfabric 1.17 on Linux unless stated otherwise:
// - Write order is granted for remote writes without atomics and costs nothing. Each pair has one
//   stream, and the target stores its data in order while it polls. So a flag that is posted after
//   its data arrives after it, at any place.
// - Data arrives only while the target polls, although completion at the origin is earlier (857 of
//   932). With FI_DELIVERY_COMPLETE, completion waits until the target has stored the data. With a
//   passive target no write completed, and 0 of 448 completed before the data.
// - A stream can be cut at any byte, so a poll can leave a word partly written. The polling thread
//   stores bytes in ascending order. A tag is in the upper half of its word, so it never arrives
//   before its data.
// - For small payloads cells are faster than immediates, because the target takes no completion:
//   6.8 us instead of 7.8 for an allreduce of 8 or 48 bytes between two ranks, 6.6 instead of 7.7
//   for a barrier (medians of 9 interleaved rounds on loopback). Above 48 bytes ordered flags save
//   about the same time (11.5 us instead of 12.8 for 4 KiB). Immediates stay the default there,
//   because libfabric itself guarantees them.
// - No fence.
// - Writes without data carry their immediate.
// - One write takes four sources to four places: its header lists them.
// - Registration costs nothing, and sources do not need it.
// - An endpoint that is enabled fills a pool of receive buffers for messages. This takes 27 ms with
//   buffers of 16 KiB, and 2 ms with 256 bytes. Puts do not use them.
// - Small puts must not be unsignaled. If the peer dies during one, the layer dereferences the
//   null context of its error completion, and the process crashes
//   (tests/system/providers/storm_test.cpp, 8 of 8 runs).
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
         "(tests/system/providers/storm_test.cpp): not used"},
    };
    static constexpr link::Profile kProfile{
        .provider = "tcp;ofi_rxm",
        .needs = "libfabric with tcp and ofi_rxm, and a network interface that is up (ip link)",
        .cells = {true, "a stream, stored in its order: a word's data is there before its tag"},
        .delivery = {true, "the target acknowledges a write after it has stored the data"},
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
