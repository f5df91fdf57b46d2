// SPDX-License-Identifier: BSD-3-Clause
// teams.cpp - teams of PEs, and contexts.
#include <algorithm>
#include <mutex>
#include <numeric>

#include "faces/shmem/collective.hpp"

namespace weft::shmem {

namespace {

static_assert(SHMEM_CTX_SERIALIZED == WEFT_CONTEXT_SERIALIZED &&
              SHMEM_CTX_PRIVATE == WEFT_CONTEXT_PRIVATE &&
              SHMEM_CTX_NOSTORE == WEFT_CONTEXT_NOSTORE);

/// Shared, because a context may exist longer than the handle of its team.
using TeamPointer = std::shared_ptr<weft_shmem_team>;

TeamPointer world;
TeamPointer node;
std::vector<TeamPointer> split_teams;
std::mutex split_teams_mutex;  ///< threads may split and destroy teams at the same time

/// Makes the object behind a handle from a team of weft. Collective, except for the world.
TeamPointer make_team(weft_team* team) {
    auto made = std::make_shared<weft_shmem_team>();
    made->team = team;
    made->rank = weft_rank(team);
    made->size = weft_size(team);
    made->world_ranks.resize(static_cast<std::size_t>(made->size));
    if (team == job.world) {
        std::iota(made->world_ranks.begin(), made->world_ranks.end(), 0);
    } else {
        check("team", weft_allgather(team, &job.rank, made->world_ranks.data(), 1, WEFT_INT32));
    }
    return made;
}

TeamPointer find(shmem_team_t team) {
    if (team == SHMEM_TEAM_INVALID || job.runtime == nullptr) return nullptr;
    if (team == SHMEM_TEAM_WORLD) return world;
    if (team == SHMEM_TEAM_SHARED) return node;
    const std::scoped_lock lock(split_teams_mutex);
    const auto found = std::ranges::find(split_teams, team, &TeamPointer::get);
    return found == split_teams.end() ? nullptr : *found;
}

/// Arguments of this PE for one split.
struct SplitArguments {
    int color = -1;  ///< number of the new team; negative: this PE is in no new team
    int key = 0;     ///< this PE's number in the new team
    const shmem_team_config_t* config = nullptr;
    long mask = 0;
};

/// Splits `parent`. Sets *new_team if this PE is in a new team. Returns 0, or -1 after printing the
/// failure.
int split(const char* routine, const weft_shmem_team& parent, const SplitArguments& arguments,
          shmem_team_t* new_team) {
    weft_team* made = nullptr;
    if (const auto status = weft_team_split(parent.team, arguments.color, arguments.key, &made);
        status != WEFT_OK)
        return report(routine, status);
    if (made == nullptr) return 0;
    TeamPointer team = make_team(made);
    if (arguments.config != nullptr && (arguments.mask & SHMEM_TEAM_NUM_CONTEXTS) != 0)
        team->config.num_contexts = arguments.config->num_contexts;
    const std::scoped_lock lock(split_teams_mutex);
    *new_team = split_teams.emplace_back(std::move(team)).get();
    return 0;
}

int create_context(shmem_team_t handle, long options, shmem_ctx_t* ctx) {
    *ctx = SHMEM_CTX_INVALID;
    auto team = find(handle);
    if (team == nullptr) return -1;
    weft_team* weft_context = nullptr;
    // These options have the values of weft's hints (asserted above).
    constexpr long kHints = SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE;
    const auto status =
        weft_context_create(job.world, static_cast<int>(options & kHints), &weft_context);
    if (status != WEFT_OK) return report("ctx_create", status);
    *ctx = new weft_shmem_context{std::move(team), handle, weft_context};
    return 0;
}

}  // namespace

const weft_shmem_team* find_team(shmem_team_t team) {
    return find(team).get();
}

void make_predefined_teams() {
    world = make_team(job.world);
    weft_team* peers = nullptr;
    check("init", weft_team_split_node(job.world, &peers));
    node = make_team(peers);
}

void end_teams() {
    split_teams.clear();  // weft_finalize() frees weft's teams
    world = node = nullptr;
}

}  // namespace weft::shmem

namespace shmem = weft::shmem;

SHMEM_ROUTINE(int, team_my_pe, (shmem_team_t team)) {
    const auto* const found = shmem::find_team(team);
    return found == nullptr ? -1 : found->rank;
}

SHMEM_ROUTINE(int, team_n_pes, (shmem_team_t team)) {
    const auto* const found = shmem::find_team(team);
    return found == nullptr ? -1 : found->size;
}

SHMEM_ROUTINE(int, team_get_config, (shmem_team_t team, long mask, shmem_team_config_t* config)) {
    const auto* const found = shmem::find_team(team);
    if (found == nullptr || config == nullptr) return -1;
    if ((mask & SHMEM_TEAM_NUM_CONTEXTS) != 0) config->num_contexts = found->config.num_contexts;
    return 0;
}

SHMEM_ROUTINE(int, team_translate_pe, (shmem_team_t src_team, int src_pe, shmem_team_t dest_team)) {
    const auto* const from = shmem::find_team(src_team);
    const auto* const to = shmem::find_team(dest_team);
    if (from == nullptr || to == nullptr || src_pe < 0 || src_pe >= from->size) return -1;
    const int pe = from->world_ranks[static_cast<std::size_t>(src_pe)];
    const auto found = std::ranges::find(to->world_ranks, pe);
    return found == to->world_ranks.end() ? -1 : static_cast<int>(found - to->world_ranks.begin());
}

SHMEM_ROUTINE(void*, team_ptr, (shmem_team_t team, const void* dest, int pe)) {
    const auto* const found = shmem::find_team(team);
    if (found == nullptr || pe < 0 || pe >= found->size) return nullptr;
    return pshmem_ptr(dest, found->world_ranks[static_cast<std::size_t>(pe)]);
}

SHMEM_ROUTINE(int, team_split_strided,
              (shmem_team_t parent, int start, int stride, int size,
               const shmem_team_config_t* config, long mask, shmem_team_t* new_team)) {
    *new_team = SHMEM_TEAM_INVALID;
    const auto* const found = shmem::find_team(parent);
    if (found == nullptr) return -1;
    const long last = start + static_cast<long>(stride) * (static_cast<long>(size) - 1);
    // All members pass equal arguments, so either all members return here or none.
    if (size < 1 || start < 0 || start >= found->size || last < 0 || last >= found->size ||
        (stride == 0 && size > 1))
        return -1;
    int index = found->rank == start ? 0 : -1;
    if (stride != 0 && (found->rank - start) % stride == 0) {
        index = (found->rank - start) / stride;
        if (index < 0 || index >= size) index = -1;
    }
    return shmem::split("team_split_strided", *found,
                        {.color = index < 0 ? -1 : 0, .key = index, .config = config, .mask = mask},
                        new_team);
}

SHMEM_ROUTINE(int, team_split_2d,
              (shmem_team_t parent, int xrange, const shmem_team_config_t* xaxis_config,
               long xaxis_mask, shmem_team_t* xaxis_team, const shmem_team_config_t* yaxis_config,
               long yaxis_mask, shmem_team_t* yaxis_team)) {
    *xaxis_team = *yaxis_team = SHMEM_TEAM_INVALID;
    const auto* const found = shmem::find_team(parent);
    if (found == nullptr || xrange < 1) return -1;
    const int x = found->rank % xrange;
    const int y = found->rank / xrange;
    const int rows = shmem::split(
        "team_split_2d", *found, {.color = y, .key = x, .config = xaxis_config, .mask = xaxis_mask},
        xaxis_team);
    const int columns = shmem::split(
        "team_split_2d", *found, {.color = x, .key = y, .config = yaxis_config, .mask = yaxis_mask},
        yaxis_team);
    return rows != 0 ? rows : columns;
}

SHMEM_ROUTINE(void, team_destroy, (shmem_team_t team)) {
    if (team == SHMEM_TEAM_INVALID) return;
    shmem::require_job("team_destroy");
    if (team == SHMEM_TEAM_WORLD || team == SHMEM_TEAM_SHARED)
        shmem::refuse("team_destroy", "team: predefined teams cannot be destroyed");
    const auto found = shmem::find(team);
    if (found == nullptr) shmem::refuse("team_destroy", "team: not a team, or destroyed before");
    shmem::check("team_destroy", weft_team_free(found->team));
    found->team = nullptr;
    const std::scoped_lock lock(shmem::split_teams_mutex);
    std::erase(shmem::split_teams, found);
}

SHMEM_ROUTINE(int, ctx_create, (long options, shmem_ctx_t* ctx)) {
    return shmem::create_context(SHMEM_TEAM_WORLD, options, ctx);
}

SHMEM_ROUTINE(int, team_create_ctx, (shmem_team_t team, long options, shmem_ctx_t* ctx)) {
    return shmem::create_context(team, options, ctx);
}

SHMEM_ROUTINE(void, ctx_destroy, (shmem_ctx_t ctx)) {
    if (ctx == SHMEM_CTX_INVALID) return;
    shmem::require_job("ctx_destroy");
    if (ctx == SHMEM_CTX_DEFAULT)
        shmem::refuse("ctx_destroy", "ctx: the default context cannot be destroyed");
    // weft_context_free() first completes the context's operations, as OpenSHMEM requires.
    shmem::check("ctx_destroy", weft_context_free(ctx->weft_context));
    delete ctx;
}

SHMEM_ROUTINE(int, ctx_get_team, (shmem_ctx_t ctx, shmem_team_t* team)) {
    *team = SHMEM_TEAM_INVALID;
    if (ctx == SHMEM_CTX_INVALID) return -1;
    *team = ctx == SHMEM_CTX_DEFAULT ? SHMEM_TEAM_WORLD : ctx->handle;
    return 0;
}

// Sessions have no effect: their hints are ignored.
SHMEM_ROUTINE(void, ctx_session_start,
              (shmem_ctx_t ctx, long, const shmem_ctx_session_config_t*, long)) {
    if (ctx != SHMEM_CTX_INVALID) shmem::require_job("ctx_session_start");
}
SHMEM_ROUTINE(void, ctx_session_stop, (shmem_ctx_t ctx)) {
    if (ctx != SHMEM_CTX_INVALID) shmem::require_job("ctx_session_stop");
}
