// SPDX-License-Identifier: BSD-3-Clause
// runtime.cpp - weft_init() and other functions on a whole runtime.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "api/c/handles.hpp"
#include "link/bootstrap/bootstrap.hpp"

using namespace weft;
using namespace weft::c_api;

namespace {

Result<void> check_bootstrap(const weft_bootstrap* given) {
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

/// Joins the job that a launcher has started. `environment` has the settings.
Result<void> join(const char* const* environment, weft_runtime** out) {
    if (out == nullptr) return fail(Status::argument, "out is NULL");
    auto runtime = WEFT_TRY(run::Runtime::create(environment));
    const auto head = WEFT_TRY(Context::create(std::move(runtime)));
    *out = reinterpret_cast<weft_runtime*>(head);
    return Done{};
}

}  // namespace

extern "C" weft_status weft_init_with(const weft_bootstrap* given, weft_runtime** out) {
    return guarded(__func__, [&]() -> Result<void> {
        WEFT_TRY(check_bootstrap(given));
        if (out == nullptr) return fail(Status::argument, "out is NULL");
        auto bootstrap = link::join_job_of_caller({.rank = given->rank,
                                                   .size = given->size,
                                                   .argument = given->arg,
                                                   .exchange = given->allgather,
                                                   .fence_start = given->barrier_start,
                                                   .fence_test = given->barrier_test,
                                                   .abort = given->abort});
        const char* const* const settings = given->settings != nullptr ? given->settings : environ;
        auto runtime = WEFT_TRY(run::Runtime::create(settings, std::move(bootstrap)));
        link::Bootstrap& joined = *runtime->job().bootstrap;
        const auto head = WEFT_TRY(Context::create(std::move(runtime)));
        auto started = joined.finish_startup();  // fails if another rank could not join
        if (started) started = head->context->runtime().begin_reports();
        if (!started) {
            Context::destroy(*head);
            return started;
        }
        *out = reinterpret_cast<weft_runtime*>(head);
        return Done{};
    });
}

extern "C" weft_status weft_init(weft_runtime** out) {
    return guarded(__func__, [&]() -> Result<void> { return join(environ, out); });
}

extern "C" weft_status weft_init_threads(weft_threads threads, weft_runtime** out) {
    return guarded(__func__, [&]() -> Result<void> {
        if (threads == WEFT_THREADS_SINGLE) return join(environ, out);
        if (threads != WEFT_THREADS_MULTIPLE)
            return fail(Status::argument, "threads: {}, expected {} or {}",
                        static_cast<int>(threads), static_cast<int>(WEFT_THREADS_SINGLE),
                        static_cast<int>(WEFT_THREADS_MULTIPLE));
        return join(base::with_assignment(environ, "WEFT_THREADS=multiple").data(), out);
    });
}

extern "C" weft_status weft_finalize(weft_runtime* runtime) {
    return on(__func__, runtime, [&](Context* context) {
        auto left = context->runtime().finalize();
        Context::destroy(Context::head_of(runtime));
        return left;
    });
}

extern "C" void weft_progress(weft_runtime* runtime) {
    caught(__func__, [&]() -> Result<void> {
        Context* context = Context::find_fast(runtime);
        if (context == nullptr || static_cast<const void*>(&Context::head_of(runtime)) != runtime ||
            context->runtime().messages().in_handler()) [[unlikely]]
            context = WEFT_TRY(find(runtime));
        context->runtime().progress().drive();
        return Done{};
    });
}

extern "C" weft_status weft_on_progress(weft_runtime* runtime, void (*fn)(void* arg), void* arg) {
    return on(__func__, runtime, [&](Context* context) {
        context->set_external(fn, arg);
        return Done{};
    });
}

extern "C" void weft_abort(weft_runtime* runtime, int status) {
    caught(__func__, [&]() -> Result<void> {
        WEFT_TRY(find(runtime, Callers::all))->runtime().abort(status);
    });
    // The handle is refused. The caller wants to end, so this process ends.
    std::fprintf(stderr, "weft: %s\n", weft_last_error());
    std::_Exit(link::exit_status_of_abort(status));
}

extern "C" weft_team* weft_world(weft_runtime* runtime) {
    return value_or<weft_team*>(nullptr, __func__, runtime,
                                [](Context* context) { return context->world(); });
}
