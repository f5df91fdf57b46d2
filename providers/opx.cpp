// SPDX-License-Identifier: BSD-3-Clause
// opx.cpp - Cornelis Omni-Path without the message library of psm2. Untested on hardware; all facts
// are from the sources of libfabric.
//
// Facts, from libfabric's sources around version 2.6 (prov/opx/include/rdma/opx/fi_opx.h,
// src/fi_opx_domain.c, src/fi_opx_info.c) and fi_opx(7):
// - No write order, no fence. Progress is manual; automatic progress needs a thread for each queue.
// - FI_DELIVERY_COMPLETE is accepted. Large puts complete after an acknowledgement in any case;
//   small puts were not examined.
// - Immediates have four bytes. Writes of up to 16 bytes are injected. Operations need contexts of
//   the larger kind (FI_CONTEXT2).
// - Without FI_OPX_HFI_SELECT the provider itself chooses the adapter that is near the process.
#include "providers/profiles.hpp"
#include "providers/settings.hpp"

namespace weft::providers {

const link::Profile& opx_profile() {
    static constexpr link::Setting kSettings[] = {
        {"FI_OPX_UUID", nullptr, [](const link::JobFacts& job) { return identifier_of(job, ""); },
         kOwnIdentifier},
    };
    static constexpr link::Profile kProfile{
        .provider = "opx",
        .needs = "a Cornelis Omni-Path NIC and libfabric with opx (fi_info -p opx)",
        .check =
            "/dev/hfi1_0 is accessible, opainfo shows an active port, and no MPI library of "
            "the process has opened the NIC",
        .fence = {false, "it has no fence"},
        .ordered = {false, "it does not order writes"},
        .declared = {.key_bytes = 8,
                     .inject_bytes = 16,
                     .message_bytes_max = 0x7FFFFFFF,
                     .immediate_bytes = 4,
                     .delivery = true},
        .declared_by = "the sources of libfabric 2.6",
        .cost = {.byte_fs = 81000,  // https://github.com/openucx/ucx/issues/3196
                 .source = "12.4 GB/s with psm2: openucx/ucx#3196; latency and rates as for Aries"},
        .settings = kSettings,
    };
    return kProfile;
}

}  // namespace weft::providers
