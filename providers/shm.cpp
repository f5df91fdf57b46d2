// SPDX-License-Identifier: BSD-3-Clause
// shm.cpp - libfabric's own shared memory between the processes of one host. Here it serves virtual
// nodes only: ranks of one node map each other's memory and need no provider.
//
// Facts, measured with libfabric 1.17 on Linux (tests/providers/behaviour_test.cpp) unless said
// otherwise:
// - Two ways to write. If registration by virtual address is offered and no write order asked for, plain
//   writes are copied by the origin through the kernel, 2 us each. If write order is asked for, all go
//   as commands through one queue, which the target works off in its order while it polls: 0.2 us each.
//   So it is asked for.
// - A command of up to 4 KiB carries its data, or names where it lies; of a larger one the target copies
//   the data through the kernel when it comes to it. So flags come after their data, whatever the
//   places, and words are whole: the one who looks is the one who stores.
// - With FI_DELIVERY_COMPLETE the target answers after it has stored (prov/shm, libfabric#5705).
// - No fence. Writes without a byte carry their immediate.
// - Each endpoint is a file in /dev/shm. A process that is killed leaves it there; the next one to open
//   a file of the same name takes it over. Nothing but fi_close removes it.
// - At most 256 peers (prov/shm/src/smr.h SMR_MAX_PEERS, checked when the address vector is opened).
#include "providers/profiles.hpp"

namespace weft::providers {

const link::Profile& shm_profile() {
    static constexpr link::Profile kProfile{
        .provider = "shm",
        .cells = {true, "the rank that looks is the one that stores, in one piece"},
        .delivery = {true, "the target answers after it has stored"},
        .fence = {false, "it has none"},
        .ordered = {true, "one queue of commands for each rank, worked off in its order"},
        .whole_words = true,
        .asks_write_order = true,
        .target_must_progress = true,
        .writes_empty = true,
        .one_host = true,
        .ranks_max = 256,
    };
    return kProfile;
}

}  // namespace weft::providers
