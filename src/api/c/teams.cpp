// SPDX-License-Identifier: BSD-3-Clause
// teams.cpp - teams of the C interface, and the memory that is allocated or registered on them.
#include <vector>

#include "api/c/handles.hpp"

namespace c_api = weft::c_api;
using weft::Status;
using weft::base::Done;
using weft::base::fail;
using weft::base::Result;

namespace {

weft_status allocate(const char* function, weft_team* team, std::size_t bytes,
                     std::size_t alignment, void** out) {
    return c_api::return_value(function, team, out, [&](const c_api::TeamHandle& found) {
        return found.heap().allocate(*found.team, {bytes, alignment});
    });
}

/// Fails if the handle is a context or the world team, which a program cannot end.
Result<void> check_end(const c_api::TeamHandle& found, const weft_team* team) {
    if (found.stream != nullptr)
        return fail(Status::argument, "the team is a context: weft_context_free() ends it");
    if (team == found.context->world())
        return fail(Status::argument, "the world team cannot be freed");
    return Done{};
}

/// Returns the ranks in an array as a list. Fails unless they differ and include this rank.
Result<std::vector<weft::Rank>> members_of(weft::run::Runtime& runtime, const int* ranks,
                                           int count) {
    if (ranks == nullptr || count < 1)
        return fail(Status::argument, "ranks: {} ranks, expected 1 or more",
                    ranks == nullptr ? 0 : count);
    const weft::Rank size = runtime.world().size();
    std::vector<bool> named(static_cast<std::size_t>(size));
    const std::vector<weft::Rank> members(ranks, ranks + count);
    for (const weft::Rank rank : members) {
        if (rank < 0 || rank >= size)
            return fail(Status::argument, "ranks: {} is not a rank of the world, expected 0..{}",
                        rank, size - 1);
        if (named[rank]) return fail(Status::argument, "ranks: {} occurs twice", rank);
        named[rank] = true;
    }
    const weft::Rank me = runtime.world().rank();
    if (!named[me]) return fail(Status::argument, "ranks: this rank, {}, is missing", me);
    return members;
}

}  // namespace

extern "C" int weft_rank(const weft_team* team) {
    int rank = -1;
    c_api::return_value(__func__, team, &rank, [](const c_api::TeamHandle& found) {
        return Result<int>(found.team->rank());
    });
    return rank;
}

extern "C" int weft_size(const weft_team* team) {
    int size = -1;
    c_api::return_value(__func__, team, &size, [](const c_api::TeamHandle& found) {
        return Result<int>(found.team->size());
    });
    return size;
}

extern "C" weft_status weft_team_split(weft_team* team, int color, int key, weft_team** out) {
    return c_api::return_value(__func__, team, out, [&](const c_api::TeamHandle& found) {
        return found.context->handle_for(found.teams().split(*found.team, color, key));
    });
}

extern "C" weft_status weft_team_split_node(weft_team* team, weft_team** out) {
    return c_api::return_value(__func__, team, out, [](const c_api::TeamHandle& found) {
        return found.context->handle_for(found.teams().split_node(*found.team));
    });
}

extern "C" weft_status weft_team_create(weft_runtime* runtime, const int* ranks, int count,
                                        int (*allgather)(void* arg, const void* mine, void* all,
                                                         size_t bytes),
                                        void* arg, weft_team** out) {
    const auto make = [&](c_api::Context* context) -> Result<weft_team*> {
        if (allgather == nullptr) return fail(Status::argument, "allgather is NULL");
        auto members = members_of(context->runtime(), ranks, count);
        if (!members) return members.failure();
        return context->handle_for(context->runtime().teams().create(
            *std::move(members), [&](const void* mine, void* all, std::size_t bytes) {
                return allgather(arg, mine, all, bytes) == 0;
            }));
    };
    return c_api::return_value(__func__, runtime, out, make);
}

extern "C" weft_status weft_team_drop(weft_team* team) {
    return c_api::on(__func__, team, [&](const c_api::TeamHandle& found) -> Result<void> {
        if (auto ends = check_end(found, team); !ends) return ends;
        found.context->remove_contexts_of(*found.team);
        found.teams().leave(*found.team);
        found.context->remove(team);
        return Done{};
    });
}

extern "C" weft_status weft_team_free(weft_team* team) {
    return c_api::on(__func__, team, [&](const c_api::TeamHandle& found) -> Result<void> {
        if (auto ends = check_end(found, team); !ends) return ends;
        if (auto idle = found.team->check_idle(); !idle) return idle;
        found.context->remove_contexts_of(*found.team);
        auto released = found.teams().release(*found.team);
        found.context->remove(team);
        return released;
    });
}

extern "C" weft_status weft_alloc(weft_team* team, size_t bytes, void** out) {
    return allocate(__func__, team, bytes, weft::link::kHeapGranule, out);
}

extern "C" weft_status weft_alloc_aligned(weft_team* team, size_t alignment, size_t bytes,
                                          void** out) {
    return allocate(__func__, team, bytes, alignment, out);
}

extern "C" weft_status weft_free(weft_team* team, void* memory) {
    return c_api::on(__func__, team, [&](const c_api::TeamHandle& found) -> Result<void> {
        if (memory == nullptr) return fail(Status::argument, "the memory is NULL");
        return found.heap().free(*found.team, memory);
    });
}

extern "C" void* weft_ptr(const weft_team* team, void* symmetric, int peer) {
    void* mapped = nullptr;
    c_api::return_value(
        __func__, team, &mapped, [&](const c_api::TeamHandle& found) -> Result<void*> {
            if (auto checked = c_api::check_rank(*found.team, "peer", peer); !checked)
                return checked.failure();
            return found.remote().address_on(symmetric, peer);
        });
    return mapped;
}

// --- registered memory of the caller -------------------------------------------------------------

extern "C" weft_status weft_register(weft_team* team, weft_memory_kind kind, void* memory,
                                     size_t bytes, void** segment) {
    const auto enter = [&](const c_api::TeamHandle& found) -> Result<std::byte*> {
        if (kind != WEFT_KIND_HOST)
            return fail(Status::unsupported, "kind: {}, expected {}: only host memory is supported",
                        static_cast<int>(kind), static_cast<int>(WEFT_KIND_HOST));
        const auto name = found.context->runtime().registered().add(*found.team, memory, bytes);
        if (name) found.context->drive_views();
        return name;
    };
    return c_api::return_value(__func__, team, segment, enter, "segment");
}

extern "C" weft_status weft_unregister(weft_team* team, void* segment) {
    return c_api::on(__func__, team, [&](const c_api::TeamHandle& found) {
        return found.context->runtime().registered().remove(*found.team, segment);
    });
}

extern "C" size_t weft_registered_bytes(const weft_team* team, const void* segment, int peer) {
    std::uint64_t bytes = 0;
    c_api::return_value(__func__, team, &bytes, [&](const c_api::TeamHandle& found) {
        return Result<std::uint64_t>(
            found.context->runtime().registered().bytes_of(*found.team, segment, peer));
    });
    return bytes;
}
