// SPDX-License-Identifier: BSD-3-Clause
// gni.cpp - Cray Aries, in libfabric 1.2 to 1.20 only. Untested on hardware; all facts are from the
// sources of libfabric.
//
// Facts, from libfabric's sources before gni was removed (prov/gni/src/gnix_fabric.c,
// include/gnix.h, commit 5c1900dcf^) and fi_gni(7):
// - Writes have no order.
// - FI_DELIVERY_COMPLETE is accepted for an endpoint, but fi_writemsg does not accept the flag. A
//   fence waits for completions, which do not imply delivery without the flag.
// - Immediates have eight bytes. FI_MORE only batches reads (gnix_rma.c).
// - If peers address memory by offsets, it is registered in pages of 4 KiB. weft refuses an offer
//   that requires FI_MR_MMU_NOTIFY, and the message names this mode.
// - A node has about 63 endpoints (ofi-cray/libfabric-cray#1351).
#include "providers/profiles.hpp"

namespace weft::providers {

const link::Profile& gni_profile() {
    static constexpr link::KnownBug kBugs[] = {
        {"1.2 to 1.20",
         "about 63 endpoints for a node (ofi-cray/libfabric-cray#1351): jobs with more ranks on a "
         "node do not start"},
    };
    static constexpr link::Profile kProfile{
        .provider = "gni",
        .needs = "a Cray XC, and libfabric 1.x with gni",
        .check =
            "the launcher (aprun, srun) grants a protection tag; outside it no endpoint "
            "opens",
        .delivery = {false, "its writes do not accept FI_DELIVERY_COMPLETE (GNIX_WRITEMSG_FLAGS)"},
        .fence = {false, "a fence waits for completions, which do not mean delivery"},
        .ordered = {false, "it does not order writes"},
        .target_must_progress = false,
        .declared = {.virtual_addresses = true,
                     .provider_keys = true,
                     .key_bytes = 8,
                     .inject_bytes = 64,
                     .message_bytes_max = 0xFFFFFFFF,
                     .immediate_bytes = 8,
                     .fence = true},
        .declared_by = "the sources of libfabric 1.20",
        .bugs = kBugs,
        .cost = {.byte_fs = 105000,  // https://github.com/open-mpi/ompi/pull/4919
                 .source = "Ruefenacht, Bull, Booth, table 1; 9.5 GB/s: open-mpi/ompi#4919"},
    };
    return kProfile;
}

}  // namespace weft::providers
