// SPDX-License-Identifier: BSD-3-Clause
// cxi.cpp - HPE Slingshot. Untested on hardware; all facts are from the sources of libfabric. On
// the first machine with this network, run the tests of providers/README.md.
//
// Facts, from libfabric's sources around version 2.6 (prov/cxi/src/cxip_info.c,
// include/cxip.h) and fi_cxi(7):
// - Writes with an immediate are off unless FI_CXI_ENABLE_WRITEDATA=1 is set and the provider
//   chooses the keys.
// - FI_DELIVERY_COMPLETE is reliable, at the cost of a read: a read of the target flushes
//   each such write.
// - Fences are reliable. A request for the fence capability turns off relaxed ordering on the bus,
//   and a request for write order disables the provider's fast path. So weft requests each only if
//   it is needed.
// - The fast path also needs keys below 100 and no events on the target region. weft uses such keys
//   (src/link/fabric/keys.hpp) and requests no events. Small keys do not protect memory, but other
//   jobs cannot reach it: each job has its own virtual network.
// - Regions must be bound to endpoints, with allocated pages (FI_MR_ENDPOINT, FI_MR_ALLOCATED).
//   Keys have four bytes.
// - Writes of up to 192 bytes are injected. Messages need manual progress; the hardware completes
//   writes.
// - weft sets no variable (fi_cxi(7)). It gives sizes of queues itself, so FI_CXI_DEFAULT_CQ_SIZE
//   does not matter. FI_CXI_RX_MATCH_MODE is about messages, which weft does not send. High-rate
//   puts (FI_CXI_HRP) complete before the data is in the target's memory, so a fenced put would
//   have to follow them.
// - Operations with FI_MORE are submitted together with the next one without it, in one access to
//   the bus. Nothing is submitted before that (fi_cxi(7)).
// - Each NIC is a domain; a process may open several.
// - weft uses the default traffic class. An alias of the endpoint could use another one. But if the
//   job's service does not allow a class, each put fails (cxip_cmdq_cp_set()). A program cannot
//   find that out before.
// - Registrations are cached behind a lock (4096 entries, libfabric#11016).
// - The launcher must set a virtual network identifier (SLINGSHOT_VNIS, _DEVICES, _SVC_IDS).
// - Write order holds only for writes to the same location (fi_endpoint(3)).
// - Aligned 8-byte words are stored whole. The point-to-point waits of OpenSHMEM rely on this:
//   over cxi, Sandia OpenSHMEM changes awaited words by plain writes (transport_ofi.h,
//   shmem_transport_put_scalar). So weft sends a small payload as tagged words, in one injected
//   write of at most 112 bytes, whose completion it does not await.
#include "providers/profiles.hpp"

namespace weft::providers {

const link::Profile& cxi_profile() {
    static constexpr base::Notify kPreference[] = {base::Notify::delivery, base::Notify::fence};
    static constexpr link::KnownBug kBugs[] = {
        {"all known releases",
         "its cache of registrations uses a lock (libfabric#11016): long sources that differ in "
         "each call cost more than symmetric memory"},
    };
    static constexpr link::Profile kProfile{
        .provider = "cxi",
        .needs = "an HPE Slingshot NIC and libfabric 1.15 or later with cxi (fi_info -p cxi)",
        .check =
            "the launcher sets SLINGSHOT_VNIS and SLINGSHOT_SVC_IDS (srun does); without "
            "them no endpoint opens",
        .cells = {true,
                  "aligned 8-byte words are stored whole, which OpenSHMEM over cxi relies on"},
        .immediate = {false,
                      "its writes with an immediate are off unless FI_CXI_ENABLE_WRITEDATA=1"},
        .delivery = {true, "a read of the target flushes the write before its completion (cxip)"},
        .fence = {true, "hardware fences, with relaxed ordering on the bus turned off (fi_cxi(7))"},
        .preference = kPreference,
        .prefers_cells = true,
        .small_keys = true,
        .target_must_progress = false,
        .batches_posts = true,
        .several_cards = true,
        .declared = {.endpoint_registration = true,
                     .key_bytes = 4,
                     .inject_bytes = 192,
                     .message_bytes_max = 0xFFFFFFFF,
                     .immediate_bytes = 8,
                     .fence = true,
                     .delivery = true},
        .declared_by = "the sources of libfabric 2.6",
        .bugs = kBugs,
        .cost = {.byte_fs = 41000,  // https://github.com/uccl-project/uccl/issues/956
                 .source =
                     "24.3 GB/s of a NIC: uccl-project/uccl#956; latency and rates as for Aries"},
    };
    return kProfile;
}

}  // namespace weft::providers
