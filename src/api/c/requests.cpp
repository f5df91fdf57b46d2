// SPDX-License-Identifier: BSD-3-Clause
// requests.cpp - functions of the C interface that start, test, complete and free requests.
#include <utility>

#include "api/c/calls.hpp"

using namespace weft;
using namespace weft::c_api;

namespace {

/// Returns the result of a collective that has ended, if there is one. Frees the request unless it
/// is persistent.
Result<void> finish(const RequestHandle& found, weft_request** request) {
    CallRequest& call = *found.request;
    Result<void> result;
    if (run::Operation* const operation = std::exchange(call.operation, nullptr))
        result = found.context->runtime().progress().finish(*operation);
    if (call.persistent == nullptr) {
        found.context->remove(*request);
        *request = nullptr;
    }
    return result;
}

/// Drives all calls until a put or get is complete. Fails with Status::timeout after the deadline;
/// does not drive if the deadline has passed.
Result<void> await_transfer(const RequestHandle& found, base::Deadline deadline) {
    run::Runtime& runtime = found.context->runtime();
    return runtime.remote(runtime.world()).await(found.request->transfer, deadline);
}

/// Returns true if the call is complete or has failed. Does not drive.
bool has_ended(const RequestHandle& found) {
    const CallRequest& call = *found.request;
    if (call.operation != nullptr)
        return found.context->runtime().progress().ended(*call.operation);
    if (!call.transfer.in_flight()) return true;
    const auto done = await_transfer(found, {.at_ns = 0});
    return done || done.failure().status != Status::timeout;
}

/// Drives all calls until the request is complete, and finishes it. Fails with Status::timeout
/// after the deadline; the request is then unchanged.
Result<void> wait_for(const RequestHandle& found, weft_request** request, base::Deadline deadline) {
    CallRequest& call = *found.request;
    if (call.operation != nullptr &&
        !found.context->runtime().progress().wait(*call.operation, deadline))
        return fail(Status::timeout, "time limit exceeded: the call is in flight");
    if (call.transfer.in_flight()) {
        auto done = await_transfer(found, deadline);
        if (!done && done.failure().status == Status::timeout) return done;
        if (!done) {
            call.transfer = {};
            static_cast<void>(finish(found, request));
            return done;
        }
    }
    return finish(found, request);
}

/// Calls body(RequestHandle), unless *request is NULL: the call is then complete.
template <class Body>
weft_status on_request(const char* function, weft_request** request, Body body) {
    return guarded(function, [&]() -> Result<void> {
        if (request == nullptr) return fail(Status::argument, "request is NULL");
        if (*request == nullptr) return Done{};
        const auto found = WEFT_TRY(find(*request));
        return body(found);
    });
}

}  // namespace

extern "C" weft_status weft_start(weft_request* request) {
    return on(__func__, request, [&](const RequestHandle& found) -> Result<void> {
        CallRequest& call = *found.request;
        if (call.persistent == nullptr)
            return fail(Status::argument,
                        "the request is not persistent: its call has already been started");
        if (call.operation != nullptr)
            return fail(Status::argument,
                        "the request is in flight: complete it by weft_wait() or weft_test()");
        const auto team = WEFT_TRY(find(call.team));
        return store(team.team->start(*call.persistent), &call.operation);
    });
}

extern "C" weft_status weft_test(weft_request** request, int* done) {
    return guarded(__func__, [&]() -> Result<void> {
        if (request == nullptr) return fail(Status::argument, "request is NULL");
        if (done == nullptr) return fail(Status::argument, "done is NULL");
        if (*request == nullptr) {
            *done = 1;
            return Done{};
        }
        const auto found = WEFT_TRY(find(*request));
        run::Runtime& runtime = found.context->runtime();
        const run::Operation* const operation = found.request->operation;
        if (found.request->transfer.in_flight()) runtime.progress().drive();
        const bool ended =
            operation == nullptr ? has_ended(found) : runtime.progress().test(*operation);
        *done = ended ? 1 : 0;
        if (!ended) return Done{};
        return operation == nullptr ? wait_for(found, request, {}) : finish(found, request);
    });
}

extern "C" weft_status weft_request_ended(const weft_request* request, int* done) {
    return guarded(__func__, [&]() -> Result<void> {
        if (done == nullptr) return fail(Status::argument, "done is NULL");
        const auto found = WEFT_TRY(find(request));
        *done = has_ended(found) ? 1 : 0;
        return Done{};
    });
}

extern "C" weft_status weft_wait(weft_request** request) {
    return on_request(__func__, request, [&](const RequestHandle& found) {
        // This wait may sleep; a wait with a deadline polls.
        if (run::Operation* const operation = found.request->operation)
            found.context->runtime().progress().wait(*operation);
        return wait_for(found, request, {});
    });
}

extern "C" weft_status weft_wait_for(weft_request** request, int64_t timeout_ns) {
    const auto deadline = deadline_of(timeout_ns);
    if (!deadline && !base::is_forked_child()) return refuse(__func__, deadline.failure());
    return on_request(__func__, request, [&](const RequestHandle& found) {
        return wait_for(found, request, *deadline);
    });
}

extern "C" weft_status weft_request_free(weft_request** request) {
    return on_request(__func__, request, [&](const RequestHandle& found) -> Result<void> {
        if (!has_ended(found))
            return fail(Status::argument,
                        "the request is in flight: complete it by weft_wait() or weft_test()");
        found.request->persistent.reset();
        return finish(found, request);
    });
}
