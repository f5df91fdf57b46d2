// SPDX-License-Identifier: BSD-3-Clause
// calls.hpp - from the arguments of a collective of the C interface to a call on a team.
//
// Idea     A collective comes in three forms: blocking, started and persistent. All three read their
//          arguments the same way, into the call that an entry of handles.hpp can hold.
#pragma once

#include <type_traits>

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

/// What calls with counts have. Counts that do not count on this rank are not looked at.
struct CountArguments {
    const void* in = nullptr;
    void* out = nullptr;
    std::size_t count = 0;  ///< of the one block of a call with a root
    const std::size_t* in_counts = nullptr;
    const std::size_t* in_displacements = nullptr;
    const std::size_t* out_counts = nullptr;
    const std::size_t* out_displacements = nullptr;
    weft_type type = WEFT_DOUBLE;
    int root = -1;
    weft_op op = WEFT_OP_NONE;
};
[[nodiscard]] base::Result<Request> read_counts(const run::Team& team, Collective collective,
                                                const CountArguments& arguments);

/// @name Calls with counts
/// What reads the arguments of each, on the team that is called.
/// @{
[[nodiscard]] inline auto gatherv(const void* in, std::size_t count, void* out,
                                  const std::size_t* counts, const std::size_t* displacements,
                                  weft_type type, int root) {
    return [=](const run::Team& team) {
        return read_counts(team, Collective::gatherv,
                           {.in = in,
                            .out = out,
                            .count = count,
                            .out_counts = counts,
                            .out_displacements = displacements,
                            .type = type,
                            .root = root});
    };
}
[[nodiscard]] inline auto scatterv(const void* in, const std::size_t* counts,
                                   const std::size_t* displacements, void* out, std::size_t count,
                                   weft_type type, int root) {
    return [=](const run::Team& team) {
        return read_counts(team, Collective::scatterv,
                           {.in = in,
                            .out = out,
                            .count = count,
                            .in_counts = counts,
                            .in_displacements = displacements,
                            .type = type,
                            .root = root});
    };
}
[[nodiscard]] inline auto allgatherv(const void* in, void* out, const std::size_t* counts,
                                     const std::size_t* displacements, weft_type type) {
    return [=](const run::Team& team) {
        return read_counts(team, Collective::allgatherv,
                           {.in = in,
                            .out = out,
                            .out_counts = counts,
                            .out_displacements = displacements,
                            .type = type});
    };
}
[[nodiscard]] inline auto alltoallv(const void* in, const std::size_t* in_counts,
                                    const std::size_t* in_displacements, void* out,
                                    const std::size_t* out_counts,
                                    const std::size_t* out_displacements, weft_type type) {
    return [=](const run::Team& team) {
        return read_counts(team, Collective::alltoallv,
                           {.in = in,
                            .out = out,
                            .in_counts = in_counts,
                            .in_displacements = in_displacements,
                            .out_counts = out_counts,
                            .out_displacements = out_displacements,
                            .type = type});
    };
}
[[nodiscard]] inline auto reduce_scatterv(const void* in, void* out, const std::size_t* counts,
                                          weft_type type, weft_op op) {
    return [=](const run::Team& team) {
        return read_counts(team, Collective::reduce_scatterv,
                           {.in = in, .out = out, .in_counts = counts, .type = type, .op = op});
    };
}
/// @}

/// Reads the arguments of a call; some are read differently on different ranks of the team.
template <class Read>
[[nodiscard]] base::Result<Request> read_on(const run::Team& team, Read read) {
    if constexpr (std::is_invocable_v<Read, const run::Team&>) {
        return read(team);
    } else {
        return read();
    }
}

/// Replaces WEFT_IN_PLACE by where the own block lies in the vector of all blocks, if this rank has it.
[[nodiscard]] base::Result<void> settle_in_place(const run::Team& team, Request& call);

}  // namespace weft::c_api
