// SPDX-License-Identifier: BSD-3-Clause
// psm3.cpp - Intel's message library over Ethernet. Untested on hardware (not in Debian's 1.17;
// ENODATA with 2.1); all facts are from the sources of libfabric.
//
// Facts, from libfabric's sources around version 2.6 (prov/psm3/src/psmx3_attr.c,
// psmx3.h) and fi_psm3(7):
// - As psm2: writes are messages that the target stores while it polls. With FI_DELIVERY_COMPLETE
//   it acknowledges them. No fence; order for up to 4096 bytes to the same location.
// - It may be offered on plain Ethernet and fail there, so it is late in the order of preference.
// - Its shared memory leaves files in /dev/shm (libfabric#7800); PSM3_DEVICES=self,nic avoids that.
//   weft does not set it, because an MPI library in the same process may want shared memory. Ranks
//   of one node do not use psm3.
#include "providers/profiles.hpp"

namespace weft::providers {

const link::Profile& psm3_profile() {
    static constexpr link::KnownBug kBugs[] = {
        {"all that are known",
         "its own shared memory leaves files in /dev/shm (libfabric#7800): PSM3_DEVICES=self,nic "
         "does without"},
    };
    static constexpr link::Profile kProfile{
        .provider = "psm3",
        .needs = "an Ethernet or RoCE card that psm3 supports (fi_info -p psm3)",
        .delivery = {true, "the target acknowledges a write after it has stored the data (psmx3)"},
        .fence = {false, "it has none"},
        .offload = {false, "its triggered operations run in software, while their rank polls"},
        .declared = {.key_bytes = 8,
                     .inject_bytes = 64,
                     .message_bytes_max = 0xFFFFF000,
                     .immediate_bytes = 8,
                     .ordered_bytes = 4096,
                     .delivery = true},
        .declared_by = "libfabric 2.6, its sources",
        .bugs = kBugs,
    };
    return kProfile;
}

}  // namespace weft::providers
