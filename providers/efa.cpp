// SPDX-License-Identifier: BSD-3-Clause
// efa.cpp - Amazon's Elastic Fabric Adapter. Untested on hardware; all facts are from the
// sources of libfabric.
//
// Facts, from libfabric's sources around version 2.6 (prov/efa/src/efa_prov_info.c) and fi_efa(7):
// - No write order and no fence.
// - FI_DELIVERY_COMPLETE is accepted. In some releases, completions with this flag did not mean
//   delivery (open-mpi/ompi#7982), and a profile cannot detect the release.
// - Immediates have four bytes. The provider chooses the keys, which have four bytes. Pages must be
//   allocated; some devices require registered sources. Registrations are cached.
// - Writes of 128 bytes are in order only with FI_OPT_EFA_WRITE_IN_ORDER_ALIGNED_128_BYTES, which a
//   device may refuse. So the profile does not promise cells.
// - The provider's own shared memory between processes of one host can hang (libfabric#12542).
//   Ranks of one node do not use the provider, but ranks of virtual nodes do.
#include "providers/profiles.hpp"

namespace weft::providers {

const link::Profile& efa_profile() {
    static constexpr link::KnownBug kBugs[] = {
        {"some releases",
         "a delivery completion meant less than delivery (open-mpi/ompi#7982): not used"},
        {"some releases",
         "its shared memory between ranks of one host can hang (libfabric#12542): "
         "turned off"},
    };
    static constexpr link::Setting kSettings[] = {
        {"FI_EFA_ENABLE_SHM_TRANSFER", "0", nullptr,
         "local peers use memory that weft shares; the provider's own shared memory, which virtual "
         "nodes would use, can hang (libfabric#12542)"},
    };
    static constexpr link::Profile kProfile{
        .provider = "efa",
        .needs =
            "an Elastic Fabric Adapter of Amazon (apt-get install ibverbs-providers; fi_info -p "
            "efa)",
        .check =
            "the security group permits all traffic of the group to itself, and ulimit -l is "
            "unlimited",
        .cells = {false,
                  "aligned words are whole only with an option that a device may refuse "
                  "(fi_efa(7))"},
        .delivery = {false,
                     "in some releases its delivery completions did not mean delivery "
                     "(open-mpi/ompi#7982)"},
        .fence = {false, "it has no fence"},
        .ordered = {false, "it does not order writes"},
        .several_cards = true,
        .declared = {.virtual_addresses = true,
                     .provider_keys = true,
                     .local_registration = true,
                     .key_bytes = 4,
                     .inject_bytes = 32,
                     .message_bytes_max = 0x40000000,
                     .immediate_bytes = 4,
                     .delivery = true},
        .declared_by = "the sources of libfabric 2.6",
        .bugs = kBugs,
        // Half a round trip of 10.37 us for 8 bytes, and 346 us for 2 MiB more:
        // https://github.com/aws/aws-parallelcluster/issues/6449
        .cost = {.latency_ns = 9930,
                 .byte_fs = 165000,
                 .source = "hpc6a instances: aws/aws-parallelcluster#6449"},
        .settings = kSettings,
    };
    return kProfile;
}

}  // namespace weft::providers
