// SPDX-License-Identifier: BSD-3-Clause
// tcp.cpp - TCP sockets with built-in reliable datagrams, in libfabric 1.18 and later; libfabric
// 1.16 and 1.17 call this provider "net".
//
// Facts, from libfabric's sources around version 2.6 (prov/tcp/src/xnet_attr.c); measured with
// libfabric 2.1 where stated:
// - Like net (net.cpp): one stream for each pair, order at all addresses, acknowledged delivery, no
//   fence and no atomics. A cut of the stream may leave words partly written.
// - It reports automatic progress. Measured: puts are not stored while the target does not poll.
// - One write can have four sources and four targets, as with net.
// - Writes of up to 128 bytes are injected, immediates have eight bytes, registration is not
//   required.
//
// If a program requests "tcp", libfabric 1.17 returns "tcp;ofi_rxm"; weft then uses the profile of
// tcp_ofi_rxm.cpp.
#include "providers/profiles.hpp"

namespace weft::providers {

const link::Profile& tcp_profile() {
    static constexpr link::Profile kProfile{
        .provider = "tcp",
        .needs = "libfabric 1.18 or later (fi_info --version)",
        .cells = {true, "a stream is stored in order, so a word's data is stored before its tag"},
        .delivery = {true, "the target acknowledges a write after it has stored the data (xnet)"},
        .fence = {false, "it has no fence"},
        .ordered = {true, "each pair of ranks has one stream, which is stored in order (xnet)"},
        .asks_write_order = true,
        .target_must_progress = true,
        .writes_two_places = true,
        .copied_bytes = 8192,
        .paced_bytes = std::size_t{512} << 10,
        .several_cards = true,
        .declared = {.internet_address = true,
                     .key_bytes = 8,
                     .inject_bytes = 128,
                     .message_bytes_max = ~std::size_t{0},
                     .immediate_bytes = 8,
                     .ordered_bytes = ~std::size_t{0},
                     .delivery = true},
        .declared_by = "the sources of libfabric 2.6",
        .cost = {.latency_ns = 1900,
                 .issue_ns = 3500,
                 .receive_ns = 3000,
                 .byte_fs = 213000,
                 .receive_byte_fs = 107000,
                 .turn_ns = 4500,
                 .source = "measured on one host"},
    };
    return kProfile;
}

}  // namespace weft::providers
