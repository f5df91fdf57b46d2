// SPDX-License-Identifier: BSD-3-Clause
// collective.hpp - the collectives of weft that those of OpenSHMEM consist of.
#pragma once

#include "front/shmem/job.hpp"

namespace weft::shmem {

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
