// SPDX-License-Identifier: BSD-3-Clause
// verbs_ofi_rxm.cpp - InfiniBand and RoCE with the layer rxm, which provides reliable datagrams.
// Untested on hardware; all facts are from the sources of libfabric. On the first machine with this
// network, run the tests of providers/README.md.
//
// Facts, from libfabric's sources around version 2.6 (prov/verbs/src/verbs_info.c,
// prov/rxm/src/rxm_attr.c) unless stated otherwise:
// - FI_DELIVERY_COMPLETE is accepted but not implemented for writes (libfabric#5601, #5083,
//   chapel#15017): completion only means that the data was sent.
// - Immediates have four bytes. Each consumes a posted receive of verbs; rxm posts these receives.
// - No fence. Write order is granted for writes to the same location, unless atomics are requested.
// - Sources must be registered and pages allocated; the provider chooses the keys.
//   Registrations are cached.
// - The first puts to a peer are refused with FI_EAGAIN until both sides have polled. Addresses
//   need IP over InfiniBand.
// - By default connections over verbs do not share receive buffers, over tcp they do (fi_rxm(7)).
#include "providers/profiles.hpp"
#include "providers/settings.hpp"

namespace weft::providers {

const link::Profile& verbs_ofi_rxm_profile() {
    static constexpr link::KnownBug kBugs[] = {
        {"all known releases",
         "FI_DELIVERY_COMPLETE is accepted and not implemented for writes (libfabric#5601, #5083): "
         "not used"},
    };
    static constexpr link::Profile kProfile{
        .provider = "verbs;ofi_rxm",
        .needs =
            "an InfiniBand or RoCE NIC (apt-get install ibverbs-providers ibverbs-utils; "
            "ibv_devices)",
        .check =
            "ibv_devinfo shows PORT_ACTIVE, ip addr an address of the port (connections need "
            "IP over InfiniBand), and ulimit -l is unlimited",
        .delivery = {false,
                     "it accepts FI_DELIVERY_COMPLETE for writes and does not implement it "
                     "(libfabric#5601)"},
        .fence = {false, "it has no fence"},
        .several_cards = true,
        .declared = {.virtual_addresses = true,
                     .provider_keys = true,
                     .local_registration = true,
                     .internet_address = true,
                     .key_bytes = 4,
                     .inject_bytes = 64,
                     .message_bytes_max = 0x40000000,
                     .immediate_bytes = 4,
                     .ordered_bytes = 0x40000000,
                     .delivery = true},
        .declared_by = "the sources of libfabric 2.6",
        .bugs = kBugs,
        // Half a round trip of 0.89 us and 14 million messages a second:
        // https://icl.utk.edu/publications/ucx-open-source-framework-hpc-network-apis-and-beyond
        // 12.2 GB/s of a 100 Gb/s port: https://github.com/LMCache/LMCache/pull/4161
        .cost = {.latency_ns = 719,
                 .issue_ns = 71,
                 .byte_fs = 82000,
                 .source = "Shamis et al., UCX, 2015; 12.2 GB/s: LMCache/LMCache#4161"},
        .settings = kRxmSettings,
    };
    return kProfile;
}

}  // namespace weft::providers
