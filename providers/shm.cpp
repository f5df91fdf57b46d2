// SPDX-License-Identifier: BSD-3-Clause
// shm.cpp - libfabric's own shared memory between the processes of one host. Here it serves virtual
// nodes only: ranks of one node map each other's memory and need no provider.
//
// Facts, measured with libfabric 1.17 on Linux (tests/providers/behaviour_test.cpp) unless said
// otherwise:
// - Two ways to write. If registration by virtual address is offered and no write order asked for,
//   plain writes are copied by the origin through the kernel, 2 us each. If write order is asked
//   for, all go as commands through one queue, which the target works off in its order while it
//   polls: 0.2 us each. So it is asked for.
// - A command of up to 4 KiB carries its data, or names where it lies; of a larger one the target
//   copies the data through the kernel when it comes to it. So flags come after their data,
//   whatever the places, and words are whole: the rank that polls is the one that stores.
// - With FI_DELIVERY_COMPLETE the target answers after it has stored (prov/shm, libfabric#5705).
// - Nothing lands, and of what is larger than 4 KiB nothing completes, while the target does not
//   poll. Plain completions of smaller ones come before the data (291 of 661).
// - Small puts to a peer that has died do no harm, so they may be unsignaled
//   (tests/providers/storm_test.cpp).
// - No fence. Writes without a byte carry their immediate. No registration is demanded.
// - Each endpoint is a file of 16 MiB in /dev/shm, named PID:UID:INDEX if it is given no name.
//   Peers map it when its name is entered in their address vector; libfabric 2.1 does so at the
//   first write and again when that peer has answered, and refuses writes until then. They never
//   open it again, so all ranks write to each other at the start, and remove it then. fi_close
//   removes it, and so does a signal handler of its own (it takes SIGTERM, SIGINT and the fatal
//   ones); a process that is killed outright leaves it. Where there is no room for it, the first
//   access is a SIGBUS.
// - At most 256 peers (prov/shm/src/smr.h SMR_MAX_PEERS, checked when the address vector is
//   opened).
#include "providers/profiles.hpp"

namespace weft::providers {

const link::Profile& shm_profile() {
    static constexpr link::Profile kProfile{
        .provider = "shm",
        .needs = "libfabric with shm, and /dev/shm",
        .cells = {true, "the rank that polls is the one that stores, in one piece"},
        .delivery = {true, "the target answers after it has stored"},
        .fence = {false, "it has none"},
        .ordered = {true, "one queue of commands for each rank, processed in order"},
        .offload = {false, "it has no triggered operations"},
        .whole_words = true,
        .asks_write_order = true,
        .target_must_progress = true,
        .writes_empty = true,
        .unsignaled_small_puts = true,
        .one_host = true,
        .ranks_max = 256,
        .endpoint_file = {.prefix = "fi_shm://", .bytes = std::size_t{16} << 20},
        .declared = {.key_bytes = 8,
                     .inject_bytes = 4096,
                     .message_bytes_max = ~std::size_t{0},
                     .immediate_bytes = 8,
                     .ordered_bytes = ~std::size_t{0},
                     .delivery = true},
        .declared_by = "libfabric 1.17, recorded",
        .cost = {.latency_ns = 130,
                 .issue_ns = 80,
                 .receive_ns = 50,
                 .byte_fs = 64000,
                 .turn_ns = 900,
                 .source = "measured on one host"},
    };
    return kProfile;
}

}  // namespace weft::providers
