// SPDX-License-Identifier: BSD-3-Clause
// errors.hpp - how failures leave the C interface: a status, and a sentence for the calling thread.
//
// Holds    No exception leaves an entry. The sentence is in thread-local memory that exists before
//          any failure, so it can be written when memory is short. It is outside any runtime,
//          because weft_last_error() has no argument.
#pragma once

#include <exception>
#include <new>
#include <string_view>

#include "base/fork_guard.hpp"
#include "base/result.hpp"
#include "weft/weft.h"

namespace weft::c_api {

/// Stores "function: text." for the calling thread and returns the status.
weft_status refuse(const char* function, Status status, std::string_view text) noexcept;
inline weft_status refuse(const char* function, const base::Failure& failure) noexcept {
    return refuse(function, failure.status, failure.text);
}
/// Stores the current exception as a failure. Call it in a catch block only.
weft_status refuse_exception(const char* function) noexcept;

/// Runs the body of an entry: a function that returns base::Result<void> and first looks up its
/// handle. The look-up refuses a forked child, in which handles are wiped.
template <class Body>
weft_status guarded_by_handle(const char* function, Body&& body) noexcept {
    try {
        const base::Result<void> done = body();
        if (done) [[likely]]
            return WEFT_OK;
        return refuse(function, done.failure());
    } catch (...) {
        return refuse_exception(function);
    }
}

/// Refuses a forked child, then runs the body of an entry.
template <class Body>
weft_status guarded(const char* function, Body&& body) noexcept {
    return guarded_by_handle(function, [&]() -> base::Result<void> {
        if (base::is_forked_child()) [[unlikely]]
            return base::fork_failure();
        return body();
    });
}

}  // namespace weft::c_api
