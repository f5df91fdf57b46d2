// SPDX-License-Identifier: BSD-3-Clause
// errors.hpp - failures of the C interface: a status, and a sentence for the calling thread.
//
// Holds    No exception leaves a C function. The sentence is in thread-local memory that exists
//          before any failure, so it can be written when memory is short. It belongs to no runtime,
//          because weft_last_error() has no argument.
#pragma once

#include <exception>
#include <new>
#include <string_view>

#include "base/fork_guard.hpp"
#include "base/result.hpp"
#include "weft/weft.h"

namespace weft::c_api {

using base::Done;
using base::fail;
using base::Result;

/// Stores "function: text." for the calling thread and returns the status.
weft_status refuse(const char* function, Status status, std::string_view text) noexcept;
inline weft_status refuse(const char* function, const base::Failure& failure) noexcept {
    return refuse(function, failure.status, failure.text);
}
/// Stores the current exception as a failure and returns its status. Only for catch blocks.
weft_status refuse_exception(const char* function) noexcept;

/// Runs the body of a C function, which returns Result<void> and first looks up a handle. The
/// look-up fails in a forked child, where the memory of handles is wiped.
template <class Body>
weft_status guarded_by_handle(const char* function, Body&& body) noexcept {
    try {
        const Result<void> done = body();
        if (done) [[likely]]
            return WEFT_OK;
        return refuse(function, done.failure());
    } catch (...) {
        return refuse_exception(function);
    }
}

/// Fails in a forked child, else runs the body of a C function.
template <class Body>
weft_status guarded(const char* function, Body&& body) noexcept {
    return guarded_by_handle(function, [&]() -> Result<void> {
        if (base::is_forked_child()) [[unlikely]]
            return base::fork_failure();
        return body();
    });
}

}  // namespace weft::c_api
