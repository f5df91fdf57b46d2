// SPDX-License-Identifier: BSD-3-Clause
// teams.cpp - teams of the C interface, also with dead members; memory that is allocated or
// registered on teams, and views of this memory for the inline functions of near.h.
#include <algorithm>
#include <vector>

#include "api/c/handles.hpp"

using namespace weft;
using namespace weft::c_api;

namespace {

weft_status allocate(const char* function, weft_team* team, std::size_t bytes,
                     std::size_t alignment, int hints, void** out) {
    return return_value(function, team, out, [&](const TeamHandle& found) -> Result<std::byte*> {
        if ((hints & ~(WEFT_MEMORY_ATOMICS | WEFT_MEMORY_SIGNALS)) != 0)
            return fail(Status::argument, "hints: {} has unknown bits", hints);
        return found.heap().allocate(*found.team, {bytes, alignment});
    });
}

/// Fails if the handle is a context or the world, which only other functions end.
Result<void> check_end(const TeamHandle& found, const weft_team* team) {
    if (found.stream != nullptr)
        return fail(Status::argument, "the team is a context: weft_context_free() ends it");
    if (team == found.context->world())
        return fail(Status::argument, "the world team cannot be freed: weft_finalize() ends it");
    return Done{};
}

/// Returns the ranks in an array. Fails unless they are different ranks of the world and include
/// this rank.
Result<std::vector<Rank>> members_of(run::Runtime& runtime, const int* ranks, int count) {
    if (ranks == nullptr || count < 1)
        return fail(Status::argument, "ranks: {} ranks, expected 1 or more",
                    ranks == nullptr ? 0 : count);
    const Rank size = runtime.world().size();
    std::vector<bool> named(static_cast<std::size_t>(size));
    const std::vector<Rank> members(ranks, ranks + count);
    for (const Rank rank : members) {
        if (rank < 0 || rank >= size)
            return fail(Status::argument, "ranks: {} is not a rank of the world, expected 0..{}",
                        rank, size - 1);
        if (named[rank]) return fail(Status::argument, "ranks: {} occurs twice", rank);
        named[rank] = true;
    }
    const Rank me = runtime.world().rank();
    if (!named[me]) return fail(Status::argument, "ranks: this rank, {}, is missing", me);
    return members;
}

/// Initializes the view of a team's handle.
void fill(NearView& view, const TeamHandle& found, weft_team* handle) {
    run::Runtime& runtime = found.context->runtime();
    const link::Wire& wire = *runtime.job().wire;
    const run::SegmentLayout& layout = runtime.layout();
    for (Rank rank = 0; rank < found.team->size(); ++rank) {
        std::byte* const segment = wire.near(found.team->job_rank(rank));
        view.bases.push_back(segment == nullptr ? nullptr
                                                : reinterpret_cast<char*>(segment + layout.heap));
    }
    view.team = found.team;
    *view.view = {.team = handle,
                  .heap = reinterpret_cast<std::uintptr_t>(view.bases[found.team->rank()]),
                  .bytes = layout.heap_bytes(),
                  .bases = view.bases.data(),
                  .ranks = static_cast<std::uint32_t>(found.team->size()),
                  .left = runtime.progress().may_serve() ? NearView::kDriveEvery : 0};
}

}  // namespace

extern "C" int weft_rank(const weft_team* team) {
    return value_or(-1, __func__, team, [](const TeamHandle& found) { return found.team->rank(); });
}

extern "C" int weft_size(const weft_team* team) {
    return value_or(-1, __func__, team, [](const TeamHandle& found) { return found.team->size(); });
}

extern "C" weft_status weft_team_split(weft_team* team, int color, int key, weft_team** out) {
    return return_value(__func__, team, out, [&](const TeamHandle& found) {
        return found.context->handle_for(found.teams().split(*found.team, color, key));
    });
}

extern "C" weft_status weft_team_split_node(weft_team* team, weft_team** out) {
    return return_value(__func__, team, out, [](const TeamHandle& found) {
        return found.context->handle_for(found.teams().split_node(*found.team));
    });
}

extern "C" weft_status weft_team_create(weft_runtime* runtime, const int* ranks, int count,
                                        int (*allgather)(void* arg, const void* mine, void* all,
                                                         size_t bytes),
                                        void* arg, weft_team** out) {
    const auto make = [&](Context* context) -> Result<weft_team*> {
        if (allgather == nullptr) return fail(Status::argument, "allgather is NULL");
        auto members = WEFT_TRY(members_of(context->runtime(), ranks, count));
        return context->handle_for(context->runtime().teams().create(
            std::move(members), [&](const void* mine, void* all, std::size_t bytes) {
                return allgather(arg, mine, all, bytes) == 0;
            }));
    };
    return return_value(__func__, runtime, out, make);
}

extern "C" weft_status weft_team_drop(weft_team* team) {
    return on(__func__, team, [&](const TeamHandle& found) -> Result<void> {
        WEFT_TRY(check_end(found, team));
        found.context->remove_contexts_of(*found.team);
        found.teams().leave(*found.team);
        found.context->remove(team);
        return Done{};
    });
}

extern "C" weft_status weft_team_free(weft_team* team) {
    return on(__func__, team, [&](const TeamHandle& found) -> Result<void> {
        WEFT_TRY(check_end(found, team));
        WEFT_TRY(found.team->check_idle());
        found.context->remove_contexts_of(*found.team);
        auto released = found.teams().release(*found.team);
        found.context->remove(team);
        return released;
    });
}

extern "C" weft_status weft_team_revoke(weft_team* team) {
    return on(__func__, team,
              [](const TeamHandle& found) -> Result<void> { return run::revoke(*found.team); });
}

extern "C" weft_status weft_agree(weft_team* team, uint64_t* word, int* dead) {
    return on(__func__, team, [&](const TeamHandle& found) -> Result<void> {
        if (word == nullptr) return fail(Status::argument, "word is NULL");
        const auto agreed = WEFT_TRY(run::agree(*found.team, *word));
        *word = agreed.word;
        if (dead != nullptr) *dead = agreed.dead.count();
        return Done{};
    });
}

extern "C" weft_status weft_team_shrink(weft_team* team, weft_team** out) {
    return return_value(__func__, team, out, [](const TeamHandle& found) {
        return found.context->handle_for(found.teams().shrink(*found.team));
    });
}

extern "C" weft_status weft_team_dead(weft_team* team, int* ranks, int capacity, int* count) {
    return on(__func__, team, [&](const TeamHandle& found) -> Result<void> {
        if (capacity < 0)
            return fail(Status::argument, "capacity is {}, expected 0 or more", capacity);
        if (count == nullptr || (ranks == nullptr && capacity != 0))
            return fail(Status::argument, "{} is NULL", count == nullptr ? "count" : "ranks");
        const std::vector<Rank> dead = run::dead_members(*found.team).members();
        *count = static_cast<int>(dead.size());
        std::copy_n(dead.begin(), std::min(capacity, *count), ranks);
        return Done{};
    });
}

// --- symmetric memory ----------------------------------------------------------------------------

extern "C" weft_status weft_alloc(weft_team* team, size_t bytes, void** out) {
    return allocate(__func__, team, bytes, link::kHeapGranule, /*hints=*/0, out);
}

extern "C" weft_status weft_alloc_aligned(weft_team* team, size_t alignment, size_t bytes,
                                          void** out) {
    return allocate(__func__, team, bytes, alignment, /*hints=*/0, out);
}

extern "C" weft_status weft_alloc_hinted(weft_team* team, size_t alignment, size_t bytes, int hints,
                                         void** out) {
    return allocate(__func__, team, bytes, alignment, hints, out);
}

extern "C" weft_status weft_free(weft_team* team, void* memory) {
    return on(__func__, team, [&](const TeamHandle& found) -> Result<void> {
        if (memory == nullptr) return Done{};
        return found.heap().free(*found.team, memory);
    });
}

extern "C" void* weft_ptr(const weft_team* team, void* symmetric, int peer) {
    return value_or<void*>(nullptr, __func__, team, [&](const TeamHandle& found) -> Result<void*> {
        WEFT_TRY(check_rank(*found.team, "peer", peer));
        return found.remote().address_on(symmetric, peer);
    });
}

// --- memory of the caller ------------------------------------------------------------------------

extern "C" weft_status weft_register(weft_team* team, weft_memory_kind kind, void* memory,
                                     size_t bytes, void** segment) {
    const auto add = [&](const TeamHandle& found) -> Result<std::byte*> {
        if (kind != WEFT_KIND_HOST)
            return fail(Status::unsupported, "kind: {}, expected {}: only host memory is supported",
                        static_cast<int>(kind), static_cast<int>(WEFT_KIND_HOST));
        const auto name = found.context->runtime().registered().add(*found.team, memory, bytes);
        if (name) found.context->drive_views();  // this rank now serves requests of local peers
        return name;
    };
    return return_value(__func__, team, segment, add, "segment");
}

extern "C" weft_status weft_unregister(weft_team* team, void* segment) {
    return on(__func__, team, [&](const TeamHandle& found) {
        return found.context->runtime().registered().remove(*found.team, segment);
    });
}

extern "C" size_t weft_registered_bytes(const weft_team* team, const void* segment, int peer) {
    return value_or(std::size_t{0}, __func__, team, [&](const TeamHandle& found) {
        return found.context->runtime().registered().bytes_of(*found.team, segment, peer);
    });
}

// --- views ---------------------------------------------------------------------------------------

extern "C" weft_status weft_near_open(weft_team* team, size_t struct_bytes, weft_near** out) {
    const auto open = [&](const TeamHandle& found) -> Result<weft_near*> {
        if (struct_bytes != sizeof(weft_near))
            return fail(Status::argument, "struct_bytes is {}, expected {}", struct_bytes,
                        sizeof(weft_near));
        return found.context->view_of(team, [&](NearView& view) { fill(view, found, team); });
    };
    return return_value(__func__, team, out, open);
}

extern "C" void weft_near_drive(weft_near* near) {
    guarded(__func__, [&]() -> Result<void> {
        if (near == nullptr) return fail(Status::argument, "near is NULL");
        __atomic_store_n(&near->left, NearView::kDriveEvery, __ATOMIC_RELAXED);
        const auto found = WEFT_TRY(find(near->team));
        found.context->runtime().progress().drive_if_free();
        return Done{};
    });
}
