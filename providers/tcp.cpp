// SPDX-License-Identifier: BSD-3-Clause
// tcp.cpp - TCP sockets with reliable datagrams built in, libfabric 1.18 and later ("net" before
// that).
//
// Facts, from libfabric's sources around version 2.6 (prov/tcp/src/xnet_attr.c), measured with
// libfabric 2.1 where said so:
// - One stream per pair, as net has it: order across places, acknowledged delivery, no fence, no
//   atomics, words that a cut of the stream may leave half written.
// - It reports automatic progress; measured, puts do not land with a passive target.
// - One write takes four sources to four places, as net's does.
// - 128 bytes are injected, immediates have eight bytes, no registration is demanded.
// libfabric 1.17 answers "tcp;ofi_rxm" when it is asked for "tcp"; then that profile counts.
#include "providers/profiles.hpp"

namespace weft::providers {

const link::Profile& tcp_profile() {
    static constexpr link::Profile kProfile{
        .provider = "tcp",
        .needs = "libfabric 1.18 or later (fi_info --version)",
        .cells = {true, "a stream, stored in its order: a word's data is there before its tag"},
        .delivery = {true, "the target acknowledges what it has stored (xnet)"},
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
