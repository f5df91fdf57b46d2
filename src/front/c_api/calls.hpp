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

}  // namespace weft::c_api
