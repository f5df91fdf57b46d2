// SPDX-License-Identifier: BSD-3-Clause
// psm2.cpp - Intel and Cornelis Omni-Path with the message library libpsm2. Untested: without an
// Omni-Path NIC, fi_getinfo returns ENODATA, even with PSM2_DEVICES=self,shm.
//
// Facts, from libfabric's sources around version 2.6 (prov/psm2/src/psmx2_attr.c,
// psmx2.h) and fi_psm2(7):
// - Writes are messages that the target's library stores. weft requests manual progress, so data
//   arrives only while the target polls. Automatic progress would be a thread that polls.
// - The target acknowledges a write with FI_DELIVERY_COMPLETE after it has stored the data.
// - No fence. Write order is granted for up to 4096 bytes to the same location.
// - If neither messages nor tags are requested, immediates have eight bytes, and the provider does
//   not require FI_CONTEXT.
// - weft leaves these variables at their defaults: FI_PSM2_DELAY (0: no pause before an endpoint
//   closes), FI_PSM2_TAGGED_RMA (1: faster long writes), and FI_PSM2_LOCK_LEVEL (2: libfabric reads
//   it once for the whole process, and another library may use the provider from several threads).
// - Each endpoint needs a hardware context (Sandia-OpenSHMEM#695). With PSM2_MULTI_EP=0, a process
//   can open only one endpoint, so weft fails if another library has opened one. psm2 sets the
//   variable to 1 if it is not set. weft opens one NIC; PSM2_MULTIRAIL makes libpsm2 use several.
#include "providers/profiles.hpp"
#include "providers/settings.hpp"

namespace weft::providers {

const link::Profile& psm2_profile() {
    static constexpr link::Setting kSettings[] = {
        {"FI_PSM2_UUID", nullptr, [](const link::JobFacts& job) { return identifier_of(job, "-"); },
         kOwnIdentifier},
        {"FI_PSM2_NAME_SERVER", "0", nullptr, kNoNameServer},
        {"FI_PSM2_LAZY_CONN", "1", nullptr, kLazyConnections},
    };
    static constexpr link::Profile kProfile{
        .provider = "psm2",
        .needs = "an Omni-Path NIC, and libpsm2 (apt-get install libpsm2-2; fi_info -p psm2)",
        .check =
            "/dev/hfi1_0 is accessible, opainfo shows an active port, and no MPI library of "
            "the process has opened the NIC with PSM2_MULTI_EP=0",
        .delivery = {true, "the target acknowledges a write after it has stored the data (psmx2)"},
        .fence = {false, "it has no fence"},
        .declared = {.key_bytes = 8,
                     .inject_bytes = 64,
                     .message_bytes_max = 0xFFFFF000,
                     .immediate_bytes = 8,
                     .ordered_bytes = 4096,
                     .delivery = true},
        .declared_by = "the sources of libfabric 2.6",
        .cost = {.byte_fs = 81000,
                 .source = "12.4 GB/s: openucx/ucx#3196; latency and rates as for Aries"},
        .settings = kSettings,
    };
    return kProfile;
}

}  // namespace weft::providers
