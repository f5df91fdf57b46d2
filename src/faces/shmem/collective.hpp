// SPDX-License-Identifier: BSD-3-Clause
// collective.hpp - weft's collectives for the buffers of OpenSHMEM routines.
//
// Holds    Each function checks its buffers first. Sizes must not overflow, and a buffer that
//          starts in symmetric memory must be in one region of it. Other memory is allowed.
#pragma once

#include <string>

#include "faces/shmem/job.hpp"

namespace weft::shmem {

/// Result of a collective: the reason of a failure; empty on success.
using Outcome = std::string;

/// Share of one member in a buffer.
struct Elements {
    std::size_t count = 0;
    std::size_t size = 1;  ///< bytes of one element
};

/// Barrier of the team, without a quiet.
Outcome synchronize(const weft_shmem_team& team);
/// argument: name of the buffer in the calling routine, for messages.
Outcome broadcast(const weft_shmem_team& team, const char* argument, void* buffer,
                  const Elements& elements, int root);
Outcome allreduce(const weft_shmem_team& team, const void* in, void* out, const Elements& elements,
                  weft_type type, weft_op op);
/// PEs that contribute to a PE's sum: the lower PEs and the PE itself, or only the lower PEs.
enum class Scan : bool { inclusive, exclusive };
/// Prefix sums. The first PE's exclusive sums are 0.
Outcome scan(const weft_shmem_team& team, const void* in, void* out, const Elements& elements,
             weft_type type, Scan form);
Outcome allgather(const weft_shmem_team& team, const void* in, void* out, const Elements& elements);
/// Concatenates blocks of different sizes; each member passes only its own size. If a member's
/// block is unusable, the call fails on all members.
Outcome collect(const weft_shmem_team& team, const void* in, void* out, const Elements& elements);
Outcome alltoall(const weft_shmem_team& team, const void* in, void* out, const Elements& elements);

/// Distances between adjacent elements in the destination and the source, in elements; at least 1.
struct Strides {
    std::ptrdiff_t to = 1;
    std::ptrdiff_t from = 1;
};
Outcome alltoall(const weft_shmem_team& team, const void* in, void* out, const Elements& elements,
                 const Strides& strides);

/// Ends the job on a failure, for routines without a status.
inline void check(const char* routine, const Outcome& outcome) {
    if (!outcome.empty()) [[unlikely]]
        refuse(routine, outcome.c_str());
}

/// Returns the team of an active set. Its members make the team when they first use the set.
const weft_shmem_team& active_set(const char* routine, int start, int log_stride, int size);

}  // namespace weft::shmem
