// SPDX-License-Identifier: BSD-3-Clause
// calls.hpp - from the arguments of a collective of the C interface to a call on a team.
//
// Idea     A collective comes in three forms: blocking, started and persistent. All three read their
//          arguments the same way, into the call that an entry of handles.hpp can hold.
#pragma once

#include "front/c_api/errors.hpp"
#include "front/c_api/handles.hpp"

namespace weft::c_api {

/// What the arguments of a collective mean; operation and persistent are left to the form.
[[nodiscard]] inline Request read_barrier() {
    return {.shape = run::barrier_shape()};
}
[[nodiscard]] base::Result<Request> read_broadcast(void* buffer, std::size_t count, weft_type type,
                                                   int root);
[[nodiscard]] base::Result<Request> read_allreduce(const void* in, void* out, std::size_t count,
                                                   weft_type type, weft_op op);
[[nodiscard]] base::Result<Request> read_reduce(const void* in, void* out, std::size_t count,
                                                weft_type type, weft_op op, int root);

/// What the further calls have in common.
struct Arguments {
    const void* in = nullptr;
    void* out = nullptr;
    std::size_t count = 0;
    weft_type type = WEFT_DOUBLE;
    int root = -1;
};
[[nodiscard]] base::Result<Request> read_blocks(Collective collective, const Arguments& arguments);
[[nodiscard]] base::Result<Request> read_reduction(Collective collective,
                                                   const Arguments& arguments, weft_op op);
/// Replaces WEFT_IN_PLACE by where the own block lies in the vector of all blocks, if this rank has it.
[[nodiscard]] base::Result<void> settle_in_place(const run::Team& team, Request& call);

}  // namespace weft::c_api
