// SPDX-License-Identifier: BSD-3-Clause
// psm2.cpp - Intel and Cornelis Omni-Path with the message library libpsm2. Untested on hardware
// (without it, fi_getinfo returns ENODATA even with PSM2_DEVICES=self,shm); all facts are from the
// sources of libfabric.
//
// Facts, from libfabric's sources around version 2.6 (prov/psm2/src/psmx2_attr.c,
// psmx2.h) and fi_psm2(7):
// - Writes are messages that the target's library stores. Data arrives only while the target
//   polls, although the provider advertises automatic progress (a poll every 1 us or 1000 us,
//   FI_PSM2_PROG_INTERVAL).
// - The target acknowledges a write with FI_DELIVERY_COMPLETE after it has stored the data.
// - No fence. Write order is granted for up to 4096 bytes to the same location.
// - If neither messages nor tags are requested, immediates have eight bytes, and operations need no
//   contexts.
// - The variables that weft sets are described in fi_psm2(7). FI_PSM2_DELAY, a pause before an
//   endpoint closes, is 0 by default. FI_PSM2_TAGGED_RMA, which is on, makes long writes faster.
//   FI_PSM2_LOCK_LEVEL stays 2: libfabric reads it once for the whole process, and another library
//   in the process may use the provider from several threads.
// - Each endpoint needs a hardware context (Sandia-OpenSHMEM#695), and a process can open the
//   adapter only once. So weft cannot use it if another library of the process has opened it, and
//   opens one card only. PSM2_MULTIRAIL makes libpsm2 use several.
#include "providers/profiles.hpp"
#include "providers/settings.hpp"

namespace weft::providers {

const link::Profile& psm2_profile() {
    static constexpr link::Setting kSettings[] = {
        {"FI_PSM2_UUID", nullptr,
         [](const link::JobFacts& job) { return identifier_of(job, true); }, kOwnIdentifier},
        {"FI_PSM2_NAME_SERVER", "0", nullptr, kNoNameServer},
        {"FI_PSM2_LAZY_CONN", "1", nullptr, kLazyConnections},
    };
    static constexpr link::Profile kProfile{
        .provider = "psm2",
        .needs = "an Omni-Path NIC, and libpsm2 (apt-get install libpsm2-2; fi_info -p psm2)",
        .check =
            "/dev/hfi1_0 is accessible, opainfo shows an active port, and no MPI library of "
            "the process has opened the card",
        .delivery = {true, "the target acknowledges a write after it has stored the data (psmx2)"},
        .fence = {false, "it has no fence"},
        .declared = {.key_bytes = 8,
                     .inject_bytes = 64,
                     .message_bytes_max = 0xFFFFF000,
                     .immediate_bytes = 8,
                     .ordered_bytes = 4096,
                     .delivery = true},
        .declared_by = "libfabric 2.6, its sources",
        .cost = {.byte_fs = 81000,  // https://github.com/openucx/ucx/issues/3196
                 .source = "12.4 GB/s: openucx/ucx#3196; the rest as for Aries"},
        .settings = kSettings,
    };
    return kProfile;
}

}  // namespace weft::providers
