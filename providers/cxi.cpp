// SPDX-License-Identifier: BSD-3-Clause
// cxi.cpp - HPE Slingshot. Has not run on hardware here: everything here is from its sources, and
// the conformance suite decides on the first machine that has it.
//
// Facts, from libfabric's sources around version 2.6 (prov/cxi/src/cxip_info.c, include/cxip.h) and
// fi_cxi(7):
// - Writes with an immediate are off unless FI_CXI_ENABLE_WRITEDATA=1 and the provider chooses the
//   keys.
// - FI_DELIVERY_COMPLETE is real: a read of the target flushes each such write. It costs that read.
// - Fences are real. To ask for the capability turns off relaxed ordering on the bus, and to ask
//   for write order leaves the fast path; neither is asked for unless it is wanted.
// - The fast path also needs keys below 100 and no events on the target region: it gets such keys
//   (keys.hpp), and nothing here asks for events. Strangers have another virtual network.
// - Regions are bound to endpoints and their pages allocated (FI_MR_ENDPOINT, FI_MR_ALLOCATED).
//   Keys have four bytes.
// - Small writes up to 192 bytes are injected. Progress is manual for messages; writes land by
//   hardware.
// - Registrations are cached behind a lock (4096 entries, libfabric#11016).
// - It needs a virtual network identifier from the launcher (SLINGSHOT_VNIS, _DEVICES, _SVC_IDS).
// - A write order is a promise for each location (fi_endpoint(3)).
// - Aligned 8-byte words are stored whole: OpenSHMEM's point-to-point waits need that of the puts
//   of such words, and Sandia OpenSHMEM makes these as plain writes over cxi (transport_ofi.h,
//   shmem_transport_put_scalar). So a small payload goes as tagged words, in one injected write of
//   at most 112 bytes; its completion is not awaited.
#include "providers/profiles.hpp"

namespace weft::providers {

const link::Profile& cxi_profile() {
    static constexpr base::Notify kPreference[] = {base::Notify::delivery, base::Notify::fence};
    static constexpr link::KnownBug kBugs[] = {
        {"all that are known",
         "its cache of registrations holds a lock (libfabric#11016): long sources that change with "
         "each call cost more than those of symmetric memory"},
    };
    static constexpr link::Profile kProfile{
        .provider = "cxi",
        .needs = "an HPE Slingshot card and libfabric 1.15 or later with cxi (fi_info -p cxi)",
        .cells = {true, "aligned 8-byte words are stored whole, as OpenSHMEM over it rests on"},
        .immediate = {false,
                      "its writes with an immediate are off unless FI_CXI_ENABLE_WRITEDATA=1"},
        .delivery = {true, "a read of the target flushes the write before its completion (cxip)"},
        .fence = {true, "hardware fences, with relaxed ordering on the bus turned off (fi_cxi(7))"},
        .offload = {false,
                    "its queue of deferred work has not been tried here, nor do jobs divide its "
                    "descriptors among the ranks of a node"},
        .preference = kPreference,
        .prefers_cells = true,
        .small_keys = true,
        .target_must_progress = false,
        .declared = {.endpoint_registration = true,
                     .key_bytes = 4,
                     .inject_bytes = 192,
                     .message_bytes_max = 0xFFFFFFFF,
                     .immediate_bytes = 8,
                     .fence = true,
                     .delivery = true},
        .declared_by = "libfabric 2.6, its sources",
        .bugs = kBugs,
    };
    return kProfile;
}

}  // namespace weft::providers
