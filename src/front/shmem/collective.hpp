// SPDX-License-Identifier: BSD-3-Clause
// collective.hpp - how a collective of weft is called: by itself, or so that other threads go on.
//
// Idea     At level MULTIPLE a call that waited with the turn would keep threads from calls that
//          the other PEs wait for. So it is started, and asked after in turns.
#pragma once

#include "front/shmem/job.hpp"

namespace weft::shmem {

/// blocking(): the call; starting(request): the same, started.
template <class Blocking, class Starting>
weft_status call_together(Blocking blocking, Starting starting) {
    if (!job.multiple) return blocking();
    weft_request* request = nullptr;
    {
        const Turn turn;
        if (const weft_status status = starting(&request); status != WEFT_OK) return status;
    }
    for (;;) {
        int done = 0;
        weft_status status = WEFT_OK;
        {
            const Turn turn;
            status = weft_test(&request, &done);
        }
        if (done != 0 || status != WEFT_OK) return status;
        drive_and_yield();
    }
}

weft_status meet(const weft_shmem_team& team);
weft_status broadcast(const weft_shmem_team& team, void* buffer, std::size_t bytes, int root);
weft_status allreduce(const weft_shmem_team& team, const void* in, void* out, std::size_t count,
                      weft_type type, weft_op op);
weft_status allgather(const weft_shmem_team& team, const void* in, void* out, std::size_t bytes);
/// Blocks of different sizes, which only their owners know.
weft_status collect(const weft_shmem_team& team, const void* in, void* out, std::size_t bytes);
weft_status alltoall(const weft_shmem_team& team, const void* in, void* out, std::size_t bytes);

/// Elements that lie `to` and `from` elements from each other.
struct Strides {
    std::ptrdiff_t to = 1;
    std::ptrdiff_t from = 1;
    std::size_t element_bytes = 1;
};
weft_status alltoall(const weft_shmem_team& team, const void* in, void* out, std::size_t count,
                     const Strides& strides);

/// The team of an active set, which its members make when they first use it.
const weft_shmem_team& active_set(const char* routine, int start, int log_stride, int size);

}  // namespace weft::shmem
