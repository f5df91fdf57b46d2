// SPDX-License-Identifier: BSD-3-Clause
// collective.hpp - weft's collectives on the buffers of an OpenSHMEM program.
//
// Holds    Each function checks its buffers first. Sizes must not overflow, and a buffer that
//          starts in symmetric memory must be in one region (job.hpp). Other memory is allowed.
//          Symmetric buffers are passed to weft by their heap addresses, which local peers map.
#pragma once

#include <string>

#include "faces/shmem/job.hpp"

namespace weft::shmem {

/// Result of a collective: the reason for its failure; empty on success.
using Outcome = std::string;

/// The part of a buffer that belongs to one member.
struct Elements {
    std::size_t count = 0;
    std::size_t size = 1;  ///< bytes of one element
};

/// Does a barrier of the team, without a quiet.
Outcome synchronize(const weft_shmem_team& team);
/// Sends the root's buffer to all members. argument: the routine's name for `buffer`, for messages.
Outcome broadcast(const weft_shmem_team& team, const char* argument, void* buffer,
                  const Elements& elements, int root);
Outcome allreduce(const weft_shmem_team& team, const void* in, void* out, const Elements& elements,
                  weft_type type, weft_op op);
/// A PE's sum has the values of the lower PEs, and in the inclusive form also its own.
enum class Scan : bool { inclusive, exclusive };
/// Computes prefix sums. The first PE's exclusive sums are 0.
Outcome scan(const weft_shmem_team& team, const void* in, void* out, const Elements& elements,
             weft_type type, Scan form);
Outcome allgather(const weft_shmem_team& team, const void* in, void* out, const Elements& elements);
/// Concatenates the members' blocks, whose sizes may differ; each member passes only its own size.
/// If a member's block is unusable, the call fails on all members.
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
        refuse(routine, outcome);
}

/// Returns the team of an active set. Collective over the set in the first call with it.
const weft_shmem_team& active_set(const char* routine, int start, int log_stride, int size);

}  // namespace weft::shmem
