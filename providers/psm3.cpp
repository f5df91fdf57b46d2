// SPDX-License-Identifier: BSD-3-Clause
// psm3.cpp - Intel's message library over Ethernet. Untested on hardware (Debian's libfabric 1.17
// lacks the provider, 2.1 returns ENODATA); all facts are from the sources of libfabric.
//
// Facts, from libfabric's sources around version 2.6 (prov/psm3/src/psmx3_attr.c,
// psmx3.h) and fi_psm3(7):
// - Like psm2: writes are messages that the target stores while it polls, and acknowledges if they
//   have FI_DELIVERY_COMPLETE. No fence; write order for up to 4096 bytes to the same location.
// - It may be offered on plain Ethernet and fail, so it is late in the order of preference.
// - The provider's own shared memory leaves files in /dev/shm (libfabric#7800), unless
//   PSM3_DEVICES=self,nic. weft does not set this variable, because an MPI library in the same
//   process may need the shared memory. Ranks of one node do not use psm3.
#include "providers/profiles.hpp"
#include "providers/settings.hpp"

namespace weft::providers {

const link::Profile& psm3_profile() {
    static constexpr link::KnownBug kBugs[] = {
        {"all known releases",
         "its own shared memory leaves files in /dev/shm (libfabric#7800): PSM3_DEVICES=self,nic "
         "turns it off"},
    };
    static constexpr link::Setting kSettings[] = {
        {"FI_PSM3_UUID", nullptr, [](const link::JobFacts& job) { return identifier_of(job, "-"); },
         kOwnIdentifier},
        {"FI_PSM3_NAME_SERVER", "0", nullptr, kNoNameServer},
        {"FI_PSM3_LAZY_CONN", "1", nullptr, kLazyConnections},
    };
    static constexpr link::Profile kProfile{
        .provider = "psm3",
        .needs = "an Ethernet or RoCE NIC that psm3 supports (fi_info -p psm3)",
        .check =
            "the interface is up; on plain Ethernet, where psm3 is offered and may fail, use "
            "tcp",
        .delivery = {true, "the target acknowledges a write after it has stored the data (psmx3)"},
        .fence = {false, "it has no fence"},
        .declared = {.key_bytes = 8,
                     .inject_bytes = 64,
                     .message_bytes_max = 0xFFFFF000,
                     .immediate_bytes = 8,
                     .ordered_bytes = 4096,
                     .delivery = true},
        .declared_by = "the sources of libfabric 2.6",
        .bugs = kBugs,
        .settings = kSettings,
    };
    return kProfile;
}

}  // namespace weft::providers
