// SPDX-License-Identifier: BSD-3-Clause
// tcp_ofi_rxm.cpp - TCP sockets with the layer rxm, which provides reliable datagrams.
//
// Facts, measured with libfabric 1.17 on Linux unless stated otherwise:
// - Write order is granted for remote writes without atomics and costs nothing. Each pair has one
//   stream, and the target stores its data in order while it polls. So a flag that is posted after
//   its data is stored after the data, at any address.
// - Data arrives only while the target polls; completion at the origin is earlier (857 of 932
//   writes). With FI_DELIVERY_COMPLETE, completion waits until the target has stored the data.
//   While the target did not poll, no write completed, and 0 of 448 writes completed before the
//   data was stored.
// - A stream can be cut at any byte, so a poll can leave a word partly written. The polling thread
//   stores bytes in ascending order. A tag is in the upper half of its word, so it never arrives
//   before its data.
// - For small payloads cells are faster than immediates, because the target reads no completion:
//   6.8 us instead of 7.8 for an allreduce of 8 or 48 bytes between two ranks, 6.6 instead of 7.7
//   for a barrier (medians of 9 interleaved rounds on loopback). Above 48 bytes ordered flags save
//   about the same time (11.5 us instead of 12.8 for 4 KiB). Immediates stay the default for these
//   payloads, because libfabric itself guarantees their order.
// - No fence.
// - A write without data may have an immediate.
// - One write can have four sources and four targets: its header lists them.
// - Registration takes no time, and sources need not be registered.
// - Enabling an endpoint fills a pool of receive buffers for messages, in 27 ms if a buffer has
//   16 KiB, in 2 ms if it has 256 bytes. Puts do not use these buffers.
// - Small puts must have a completion. If the peer dies during a put without one, rxm dereferences
//   the null context of the error completion, and the process crashes
//   (tests/system/providers/storm_test.cpp, 8 of 8 runs).
// - The first puts to a peer are refused with FI_EAGAIN until both sides have polled.
#include "providers/profiles.hpp"
#include "providers/settings.hpp"

namespace weft::providers {

const link::Profile& tcp_ofi_rxm_profile() {
    static constexpr link::KnownBug kBugs[] = {
        {"1.17",
         "a small put without a completion crashes the process if its peer dies "
         "(tests/system/providers/storm_test.cpp): not used"},
    };
    static constexpr link::Profile kProfile{
        .provider = "tcp;ofi_rxm",
        .needs = "libfabric with tcp and ofi_rxm, and a network interface that is up (ip link)",
        .cells = {true, "a stream is stored in order, so a word's data is stored before its tag"},
        .delivery = {true, "the target acknowledges a write after it has stored the data"},
        .fence = {false, "it has no fence"},
        .ordered = {true, "each pair of ranks has one stream, which is stored in order"},
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
        .settings = kRxmSettings,
    };
    return kProfile;
}

}  // namespace weft::providers
