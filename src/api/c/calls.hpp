// SPDX-License-Identifier: BSD-3-Clause
// calls.hpp - the arguments of the collectives of the C interface, and the three forms of a call.
//
// Idea     Each collective has one line, which names its arguments. Its blocking, started and
//          persistent forms convert the arguments to a weft::Call.
#pragma once

#include <cstddef>

#include "api/c/handles.hpp"
#include "weft/call.hpp"
#include "weft/weft.h"

namespace weft::c_api {

/// Counts and displacements, in elements.
struct BlockArguments {
    const std::size_t* counts = nullptr;         ///< nullptr: none are passed
    const std::size_t* displacements = nullptr;  ///< nullptr: blocks follow each other

    /// Returns both arrays as spans of `blocks` entries; empty if they are nullptr.
    [[nodiscard]] Blocks of(std::size_t blocks) const {
        if (counts == nullptr) return {};
        if (displacements == nullptr) return {.counts = {counts, blocks}};
        return {{counts, blocks}, {displacements, blocks}};
    }
};

/// The arguments of a collective. In rooted collectives only the root's block arguments are read.
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

/// Converts arguments to a call with addresses in place of WEFT_IN_PLACE.
[[nodiscard]] Result<Call> read(const run::Team& team, const CallArguments& arguments);

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

/// Execute the three forms of a call: run() returns when it is complete, start() sets *request to a
/// call in flight, prepare() to a persistent call. `function`: name of the C function, for messages
weft_status run(const char* function, weft_team* team, const CallArguments& arguments) noexcept;
weft_status start(const char* function, weft_team* team, const CallArguments& arguments,
                  weft_request** request) noexcept;
weft_status prepare(const char* function, weft_team* team, const CallArguments& arguments,
                    weft_request** request) noexcept;

}  // namespace weft::c_api
