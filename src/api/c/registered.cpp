// SPDX-License-Identifier: BSD-3-Clause
// registered.cpp - registered memory of the caller, in the C interface.
//
// Next     run/runtime/registered_memory.hpp.
#include "api/c/handles.hpp"

namespace c_api = weft::c_api;
using weft::Status;
using weft::base::fail;
using weft::base::Result;

extern "C" weft_status weft_register(weft_team* team, weft_memory_kind kind, void* memory,
                                     size_t bytes, void** segment) {
    const auto enter = [&](const c_api::TeamHandle& found) -> Result<std::byte*> {
        if (kind != WEFT_KIND_HOST)
            return fail(Status::unsupported, "kind: {}, and memory of the host alone is registered",
                        static_cast<int>(kind));
        const auto name = found.team->memory().enter(memory, bytes);
        if (name) found.context->drive_views();
        return name;
    };
    return c_api::give(__func__, team, segment, enter, "segment");
}

extern "C" weft_status weft_unregister(weft_team* team, void* segment) {
    return c_api::on(__func__, team, [&](const c_api::TeamHandle& found) {
        return found.team->memory().withdraw(segment);
    });
}

extern "C" size_t weft_registered_bytes(const weft_team* team, const void* segment, int peer) {
    std::uint64_t bytes = 0;
    c_api::give(__func__, team, &bytes, [&](const c_api::TeamHandle& found) {
        return Result<std::uint64_t>(
            found.context->runtime().registered().bytes_of(*found.team, segment, peer));
    });
    return bytes;
}
