// SPDX-License-Identifier: BSD-3-Clause
// runtime.cpp - weft_init() and other functions on a whole runtime.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "api/c/handles.hpp"
#include "link/bootstrap/bootstrap.hpp"

namespace c_api = weft::c_api;
using weft::Status;
using weft::base::Done;
using weft::base::Result;

namespace {

Result<void> check(const weft_bootstrap* given) {
    using weft::base::fail;
    if (given == nullptr) return fail(Status::argument, "bootstrap is NULL");
    if (given->struct_bytes != sizeof(weft_bootstrap))
        return fail(Status::argument, "bootstrap: struct_bytes is {}, expected {}",
                    given->struct_bytes, sizeof(weft_bootstrap));
    if (given->size < 1 || given->rank < 0 || given->rank >= given->size)
        return fail(Status::argument,
                    "bootstrap: rank is {} and size is {}, expected 0 <= rank < size", given->rank,
                    given->size);
    if (given->allgather == nullptr || given->barrier_start == nullptr ||
        given->barrier_test == nullptr)
        return fail(Status::argument,
                    "bootstrap: allgather, barrier_start or barrier_test is NULL");
    return Done{};
}

Result<void> join(const char* const* environment, weft_runtime** out) {
    if (out == nullptr) return weft::base::fail(Status::argument, "out is NULL");
    auto runtime = weft::run::Runtime::create(environment);
    if (!runtime) return runtime.failure();
    const auto head = c_api::Context::create(std::move(*runtime));
    if (!head) return head.failure();
    *out = reinterpret_cast<weft_runtime*>(*head);
    return Done{};
}

}  // namespace

extern "C" weft_status weft_init_with(const weft_bootstrap* given, weft_runtime** out) {
    return c_api::guarded(__func__, [&]() -> Result<void> {
        if (auto checked = check(given); !checked) return checked;
        if (out == nullptr) return weft::base::fail(Status::argument, "out is NULL");
        auto bootstrap = weft::link::join_job_of_caller({.rank = given->rank,
                                                         .size = given->size,
                                                         .argument = given->arg,
                                                         .exchange = given->allgather,
                                                         .fence_start = given->barrier_start,
                                                         .fence_test = given->barrier_test,
                                                         .abort = given->abort});
        const char* const* const settings = given->settings != nullptr ? given->settings : environ;
        auto runtime = weft::run::Runtime::create(settings, std::move(bootstrap));
        if (!runtime) return runtime.failure();
        weft::link::Bootstrap& joined = *(*runtime)->job().bootstrap;
        const auto head = c_api::Context::create(std::move(*runtime));
        if (!head) return head.failure();
        if (auto agreed = joined.agree(); !agreed) {
            c_api::Context::destroy(**head);
            return agreed;
        }
        *out = reinterpret_cast<weft_runtime*>(*head);
        return Done{};
    });
}

extern "C" weft_status weft_init(weft_runtime** out) {
    return c_api::guarded(__func__, [&]() -> Result<void> { return join(environ, out); });
}

extern "C" weft_status weft_init_threads(weft_threads threads, weft_runtime** out) {
    return c_api::guarded(__func__, [&]() -> Result<void> {
        if (threads == WEFT_THREADS_SINGLE) return join(environ, out);
        if (threads != WEFT_THREADS_MULTIPLE)
            return weft::base::fail(
                Status::argument, "threads: {}, expected {} or {}", static_cast<int>(threads),
                static_cast<int>(WEFT_THREADS_SINGLE), static_cast<int>(WEFT_THREADS_MULTIPLE));
        return join(weft::base::with_assignment(environ, "WEFT_THREADS=multiple").data(), out);
    });
}

extern "C" weft_status weft_finalize(weft_runtime* runtime) {
    return c_api::on(__func__, runtime, [&](c_api::Context* context) {
        auto left = context->runtime().finalize();
        c_api::Context::destroy(c_api::Context::head_of(runtime));
        return left;
    });
}

extern "C" void weft_progress(weft_runtime* runtime) {
    c_api::guarded_by_handle(__func__, [&]() -> Result<void> {
        if (c_api::Context* const found = c_api::context_at_once(runtime)) [[likely]] {
            found->runtime().progress().drive();
            return Done{};
        }
        const auto context = c_api::find(runtime);
        if (!context) return context.failure();
        (*context)->runtime().progress().drive();
        return Done{};
    });
}

extern "C" weft_status weft_on_progress(weft_runtime* runtime, void (*fn)(void* arg), void* arg) {
    return c_api::on(__func__, runtime, [&](c_api::Context* context) {
        context->set_external(fn, arg);
        return Done{};
    });
}

extern "C" void weft_abort(weft_runtime* runtime, int status) {
    c_api::on(__func__, runtime,
              [&](c_api::Context* context) -> Result<void> { context->runtime().abort(status); });
    std::fprintf(stderr, "weft: %s\n", weft_last_error());
    std::_Exit(weft::link::exit_status_of_abort(status));
}

extern "C" weft_team* weft_world(weft_runtime* runtime) {
    weft_team* world = nullptr;
    c_api::return_value(__func__, runtime, &world, [](c_api::Context* context) {
        return Result<weft_team*>(context->world());
    });
    return world;
}
