// SPDX-License-Identifier: BSD-3-Clause
// runtime.cpp - weft_init() and what concerns a runtime as a whole.
#include <unistd.h>

#include "front/c_api/errors.hpp"
#include "front/c_api/handles.hpp"

namespace c_api = weft::c_api;
using weft::Status;
using weft::base::Done;
using weft::base::Result;

extern "C" weft_status weft_init(weft_runtime** out) {
    return c_api::guarded(__func__, [&]() -> Result<void> {
        if (out == nullptr) return weft::base::fail(Status::argument, "out is NULL");
        auto runtime = weft::run::Runtime::create(environ);
        if (!runtime) return runtime.failure();
        const auto head = c_api::Context::create(std::move(*runtime));
        if (!head) return head.failure();
        *out = reinterpret_cast<weft_runtime*>(*head);
        return Done{};
    });
}

extern "C" weft_status weft_finalize(weft_runtime* runtime) {
    return c_api::guarded(__func__, [&]() -> Result<void> {
        const auto context = c_api::context_of(runtime);
        if (!context) return context.failure();
        auto left = (*context)->runtime().finalize();
        c_api::Context::destroy(c_api::Context::head_of(runtime));
        return left;
    });
}

extern "C" void weft_progress(weft_runtime* runtime) {
    c_api::guarded(__func__, [&]() -> Result<void> {
        const auto context = c_api::context_of(runtime);
        if (!context) return context.failure();
        (*context)->runtime().progress();
        return Done{};
    });
}

extern "C" weft_status weft_on_progress(weft_runtime* runtime, void (*fn)(void* arg), void* arg) {
    return c_api::guarded(__func__, [&]() -> Result<void> {
        const auto context = c_api::context_of(runtime);
        if (!context) return context.failure();
        (*context)->set_external(fn, arg);
        return Done{};
    });
}

extern "C" weft_team* weft_world(weft_runtime* runtime) {
    weft_team* world = nullptr;
    c_api::guarded(__func__, [&]() -> Result<void> {
        const auto context = c_api::context_of(runtime);
        if (!context) return context.failure();
        world = (*context)->world();
        return Done{};
    });
    return world;
}
