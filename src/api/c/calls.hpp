// SPDX-License-Identifier: BSD-3-Clause
// calls.hpp - arguments of the collectives of the C interface, and the three forms of a call.
//
// Idea     Every C function of a collective puts its arguments into CallArguments. The blocking,
//          started and persistent forms convert them to a weft::Call.
#pragma once

#include <cstddef>

#include "api/c/handles.hpp"
#include "weft/call.hpp"
#include "weft/weft.h"

namespace weft::c_api {

/// Arrays of counts and displacements, in elements, which the caller owns.
struct BlockArguments {
    const std::size_t* counts = nullptr;         ///< nullptr: the caller has passed no counts
    const std::size_t* displacements = nullptr;  ///< nullptr: the blocks are contiguous

    /// Returns both arrays as spans of `blocks` entries; empty if they are nullptr.
    [[nodiscard]] Blocks of(std::size_t blocks) const {
        if (counts == nullptr) return {};
        if (displacements == nullptr) return {.counts = {counts, blocks}};
        return {{counts, blocks}, {displacements, blocks}};
    }
};

/// Arguments of a collective. In rooted collectives only the root's block arguments are read.
struct CallArguments {
    Collective collective = Collective::barrier;
    const void* in = nullptr;
    void* out = nullptr;
    std::size_t count = 0;
    weft_type type = WEFT_DOUBLE;
    weft_op op = WEFT_SUM;
    int root = -1;  ///< -1: the collective has no root
    BlockArguments in_blocks = {};
    BlockArguments out_blocks = {};
};

/// Converts arguments to a call, with addresses instead of WEFT_IN_PLACE. Fails if the type, the
/// operation or WEFT_IN_PLACE is not valid in this call.
[[nodiscard]] Result<Call> to_call(const run::Team& team, const CallArguments& arguments);

[[nodiscard]] Result<Type> type_of(weft_type type);
/// Sets the operation of a call whose type is set.
[[nodiscard]] Result<void> set_operation(Call& call, weft_op op);

/// Returns the deadline of a call; fails if timeout_ns is negative.
[[nodiscard]] inline Result<base::Deadline> deadline_of(std::int64_t timeout_ns) {
    if (timeout_ns < 0)
        return fail(Status::argument, "timeout_ns is {}, expected 0 or more", timeout_ns);
    if (timeout_ns == WEFT_FOREVER) return base::Deadline{};
    return base::Deadline::after(static_cast<std::uint64_t>(timeout_ns));
}

/// Make a call in its three forms. run() returns when the call is complete, start() sets *request
/// to the call in flight, prepare() sets *request to a persistent call. `function`: name of the C
/// function, for messages.
weft_status run(const char* function, weft_team* team, const CallArguments& arguments) noexcept;
weft_status start(const char* function, weft_team* team, const CallArguments& arguments,
                  weft_request** request) noexcept;
weft_status prepare(const char* function, weft_team* team, const CallArguments& arguments,
                    weft_request** request) noexcept;

}  // namespace weft::c_api
