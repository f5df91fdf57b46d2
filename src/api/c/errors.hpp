// SPDX-License-Identifier: BSD-3-Clause
// errors.hpp - failures of the C interface: a status, and a sentence for the calling thread.
//
// Holds    No exception leaves a C function. Sentences are in thread-local memory of fixed size, so
//          they can be written when the process is out of memory.
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

/// Stores "function: text." for weft_last_error() of the calling thread. Returns the status.
weft_status refuse(const char* function, Status status, std::string_view text) noexcept;
inline weft_status refuse(const char* function, const base::Failure& failure) noexcept {
    return refuse(function, failure.status, failure.text);
}
/// Stores the exception that a catch block handles, as a failure. Returns its status.
weft_status refuse_exception(const char* function) noexcept;

/// Runs the body of a C function, which returns Result<void>, and stores its failure or exception.
/// Does not refuse forked children: the look-up of a handle in the body does.
template <class Body>
weft_status caught(const char* function, Body&& body) noexcept {
    try {
        const Result<void> done = body();
        if (done) [[likely]]
            return WEFT_OK;
        return refuse(function, done.failure());
    } catch (...) {
        return refuse_exception(function);
    }
}

/// Runs the body of a C function like caught(), but fails in a forked child.
template <class Body>
weft_status guarded(const char* function, Body&& body) noexcept {
    return caught(function, [&]() -> Result<void> {
        if (base::is_forked_child()) [[unlikely]]
            return base::fork_failure();
        return body();
    });
}

}  // namespace weft::c_api
