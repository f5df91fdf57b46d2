// SPDX-License-Identifier: BSD-3-Clause
// tcp.cpp - TCP sockets with built-in reliable datagrams, libfabric 1.18 and later ("net" before).
//
// Facts, from libfabric's sources around version 2.6 (prov/tcp/src/xnet_attr.c); measured with
// libfabric 2.1 where stated:
// - As net, with one stream for each pair: order between places, acknowledged delivery, no fence
//   and no atomics. A cut of the stream may leave words partly written.
// - It reports automatic progress. Measured: puts to a passive target are not stored.
// - One write takes four sources to four places, as with net.
// - 128 bytes are injected, immediates have eight bytes, registration is not required.
//
// libfabric 1.17 returns "tcp;ofi_rxm" if it is asked for "tcp"; weft uses the profile of
// that provider then.
#include "providers/profiles.hpp"

namespace weft::providers {

const link::Profile& tcp_profile() {
    static constexpr link::Profile kProfile{
        .provider = "tcp",
        .needs = "libfabric 1.18 or later (fi_info --version)",
        .cells = {true, "a stream, stored in its order: a word's data is there before its tag"},
        .delivery = {true, "the target acknowledges a write after it has stored the data (xnet)"},
        .fence = {false, "it has none"},
        .ordered = {true, "one stream for each pair of ranks, stored in its order (xnet)"},
        .offload = {false, "it has no triggered operations"},
        .asks_write_order = true,
        .target_must_progress = true,
        .writes_two_places = true,
        .copied_bytes = 8192,
        .paced_bytes = std::size_t{512} << 10,
        .declared = {.internet_address = true,
                     .key_bytes = 8,
                     .inject_bytes = 128,
                     .message_bytes_max = ~std::size_t{0},
                     .immediate_bytes = 8,
                     .ordered_bytes = ~std::size_t{0},
                     .delivery = true},
        .declared_by = "libfabric 2.6, its sources",
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
