// SPDX-License-Identifier: BSD-3-Clause
// shm.cpp - libfabric's shared memory between the processes of one host. weft uses it for virtual
// nodes only: ranks of one node map each other's memory and need no provider.
//
// Facts, measured with libfabric 1.17 on Linux (tests/system/providers/behaviour_test.cpp)
// unless stated otherwise:
// - It has two methods to write. If registration by virtual address is offered and write order is
//   not requested, the origin copies plain writes through the kernel, 2 us each. If write order is
//   requested, all writes are commands in one queue, 0.2 us each. The target processes the queue in
//   order while it polls. So weft requests write order.
// - A command for up to 4 KiB contains the data or its address. For more data, the target copies
//   the data through the kernel when it processes the command. So a flag is stored after its data,
//   at any address. Words are whole, because the polling rank stores them.
// - With FI_DELIVERY_COMPLETE the target answers after it has stored the data (prov/shm,
//   libfabric#5705).
// - While the target does not poll, no data arrives and writes above 4 KiB do not complete. Smaller
//   writes without FI_DELIVERY_COMPLETE may complete before the data is stored (291 of 661).
// - Small puts to a dead peer do no harm, so they may be posted without a completion
//   (tests/system/providers/storm_test.cpp).
// - No fence. A write without data may have an immediate. Registration is not required.
// - Each endpoint is a file of 16 MiB in /dev/shm, named PID:UID:INDEX by default. Peers map the
//   file when they insert its name into their address vector. libfabric 2.1 maps it at the first
//   write and again after an answer, and refuses writes until then. Peers never open it again, so
//   all ranks write to each other at the start and then remove their files. fi_close and
//   libfabric's signal handler (SIGTERM, SIGINT and fatal signals) also remove the file. SIGKILL
//   leaves it. If /dev/shm is full, the first access is a SIGBUS.
// - At most 256 peers (prov/shm/src/smr.h SMR_MAX_PEERS, checked when the address
//   vector is opened).
#include "providers/profiles.hpp"

namespace weft::providers {

const link::Profile& shm_profile() {
    static constexpr link::Profile kProfile{
        .provider = "shm",
        .needs = "libfabric with shm, and /dev/shm",
        .cells = {true, "the polling rank stores a cell in one piece"},
        .delivery = {true, "the target answers after it has stored the data"},
        .fence = {false, "it has no fence"},
        .ordered = {true, "each rank has one queue of commands, which it processes in order"},
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
