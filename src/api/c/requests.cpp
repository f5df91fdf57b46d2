// SPDX-License-Identifier: BSD-3-Clause
// requests.cpp - start, test, wait and end of started and persistent calls of the C interface.
#include <utility>

#include "api/c/calls.hpp"

using namespace weft;
using namespace weft::c_api;

namespace {

/// Ends a request that is complete or has no operation, and returns its outcome.
Result<void> end(const RequestHandle& found, weft_request** request) {
    CallRequest& ended = *found.request;
    Result<void> outcome;
    if (run::Operation* const operation = std::exchange(ended.operation, nullptr))
        outcome = found.context->runtime().calls().finish(*operation);
    if (ended.persistent == nullptr) {
        found.context->remove(*request);
        *request = nullptr;
    }
    return outcome;
}

/// Returns true if the request is a get in flight.
bool is_get(const CallRequest& call) {
    return call.get != nullptr && call.get->pending != 0;
}

/// Returns true if the request is a put or a get in flight.
bool is_transfer(const CallRequest& call) {
    return is_get(call) || call.put.rank >= 0;
}

/// Drives all calls until a put or get is complete; fails after the deadline. If the deadline has
/// passed, does not drive.
Result<void> await_transfer(const RequestHandle& found, base::Deadline deadline) {
    run::Runtime& runtime = found.context->runtime();
    run::RemoteMemory remote = runtime.remote(runtime.world());
    CallRequest& call = *found.request;
    return is_get(call) ? remote.await(*call.get, deadline)
                        : remote.await_delivery(call.put, deadline);
}

/// Returns true if the call is complete or has failed. Makes no progress.
bool has_ended(const RequestHandle& found) {
    const CallRequest& call = *found.request;
    if (call.operation != nullptr) return found.context->runtime().calls().ended(*call.operation);
    if (call.put.rank < 0) return !is_get(call);
    const auto done = await_transfer(found, {.at_ns = 0});
    return done || done.failure().status != Status::timeout;
}

/// Drives all calls until the request is complete, and ends it; fails after the deadline.
Result<void> wait_for(const RequestHandle& found, weft_request** request, base::Deadline deadline) {
    CallRequest& call = *found.request;
    run::Runtime& runtime = found.context->runtime();
    if (call.operation != nullptr && !runtime.calls().wait(*call.operation, deadline))
        return fail(Status::timeout, "time limit exceeded: the call is in flight");
    if (is_transfer(call)) {
        auto done = await_transfer(found, deadline);
        if (!done && done.failure().status == Status::timeout) return done;
        if (!done) {
            call.get.reset();
            call.put = {};
            static_cast<void>(end(found, request));
            return done;
        }
    }
    return end(found, request);
}

/// Calls body(RequestHandle). If *request is NULL, the call is complete, and body is not called.
template <class Body>
weft_status on_open(const char* function, weft_request** request, Body body) {
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
                        "the request is not persistent: its call is already started");
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
        if (*request != nullptr) {
            const auto found = WEFT_TRY(find(*request));
            const run::Operation* const operation = found.request->operation;
            if (is_transfer(*found.request)) found.context->runtime().progress().drive();
            const bool ended = operation == nullptr
                                   ? has_ended(found)
                                   : found.context->runtime().calls().test(*operation);
            *done = ended ? 1 : 0;
            if (!ended) return Done{};
            return operation == nullptr ? wait_for(found, request, {}) : end(found, request);
        }
        *done = 1;
        return Done{};
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
    return on_open(__func__, request, [&](const RequestHandle& found) {
        if (run::Operation* const operation = found.request->operation)
            found.context->runtime().calls().wait(*operation);
        return wait_for(found, request, {});
    });
}

extern "C" weft_status weft_wait_for(weft_request** request, int64_t timeout_ns) {
    const auto deadline = deadline_of(timeout_ns);
    if (!deadline && !base::is_forked_child()) return refuse(__func__, deadline.failure());
    return on_open(__func__, request,
                   [&](const RequestHandle& found) { return wait_for(found, request, *deadline); });
}

extern "C" weft_status weft_request_free(weft_request** request) {
    return on_open(__func__, request, [&](const RequestHandle& found) -> Result<void> {
        if (!has_ended(found))
            return fail(Status::argument,
                        "the request is in flight: complete it by weft_wait() or weft_test()");
        found.request->persistent.reset();
        return end(found, request);
    });
}
