// SPDX-License-Identifier: BSD-3-Clause
// calls.hpp - the arguments of the collectives of the C interface, and the three forms of a call.
//
// Idea     Each collective has one line, which names its arguments. Its blocking, started and
//          persistent forms convert these to a weft::Call.
// Next     collectives.cpp for the collectives; requests.cpp for how requests end; operations.cpp
//          for user operations.
#pragma once

#include <cstddef>

#include "api/c/handles.hpp"
#include "weft/call.hpp"
#include "weft/weft.h"

namespace weft::c_api {

/// Counts and displacements, one for each rank.
struct BlockArguments {
    const std::size_t* counts = nullptr;
    const std::size_t* displacements = nullptr;

    /// Returns the arrays, with an entry for each of `blocks` blocks.
    [[nodiscard]] Blocks of(std::size_t blocks) const {
        if (counts == nullptr) return {};
        if (displacements == nullptr) return {.counts = {counts, blocks}};
        return {{counts, blocks}, {displacements, blocks}};
    }
};

/// The arguments of a collective. Block arguments are read on ranks that have blocks.
struct CallArguments {
    Collective collective = Collective::barrier;
    const void* in = nullptr;
    void* out = nullptr;
    std::size_t count = 0;
    weft_type type = WEFT_DOUBLE;
    weft_op op = WEFT_SUM;
    int root = -1;
    BlockArguments in_blocks = {};
    BlockArguments out_blocks = {};
};

[[nodiscard]] base::Result<Call> read(const run::Team& team, const CallArguments& arguments);

[[nodiscard]] base::Result<Type> type_of(weft_type type);
/// Sets the operation of a call whose type is set.
[[nodiscard]] base::Result<void> set_operation(Call& call, weft_op op);

/// Returns the deadline of a call; fails if timeout_ns is negative.
[[nodiscard]] inline base::Result<base::Deadline> deadline_of(std::int64_t timeout_ns) {
    if (timeout_ns < 0)
        return base::fail(Status::argument, "timeout_ns is {}, expected 0 or more", timeout_ns);
    if (timeout_ns == WEFT_FOREVER) return base::Deadline{};
    return base::Deadline::after(static_cast<std::uint64_t>(timeout_ns));
}

/// The three forms of a call: blocking, started and persistent.
weft_status run(const char* function, weft_team* team, const CallArguments& arguments) noexcept;
weft_status start(const char* function, weft_team* team, const CallArguments& arguments,
                  weft_request** request) noexcept;
weft_status prepare(const char* function, weft_team* team, const CallArguments& arguments,
                    weft_request** request) noexcept;

}  // namespace weft::c_api
