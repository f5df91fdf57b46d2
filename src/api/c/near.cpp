// SPDX-License-Identifier: BSD-3-Clause
// near.cpp - the views of team memory that the inline functions of near.h use.
#include "weft/near.h"

#include <cstddef>

#include "api/c/handles.hpp"

namespace c_api = weft::c_api;
using weft::Status;
using weft::base::Done;
using weft::base::fail;
using weft::base::Result;

namespace {

/// Initializes the view of a team's handle.
void fill(c_api::NearView& made, const c_api::TeamHandle& found, weft_team* handle) {
    weft::run::Runtime& runtime = found.context->runtime();
    const weft::link::Wire& wire = *runtime.job().wire;
    std::byte* const own = wire.near(runtime.job().bootstrap->rank());
    const weft::run::SegmentLayout& layout = runtime.layout();
    for (weft::Rank rank = 0; rank < found.team->size(); ++rank) {
        std::byte* const base = wire.near(found.team->job_rank(rank));
        made.bases.push_back(base == nullptr ? nullptr
                                             : reinterpret_cast<char*>(base + layout.heap));
    }
    made.team = found.team;
    *made.view = {.team = handle,
                  .heap = reinterpret_cast<std::uintptr_t>(own + layout.heap),
                  .bytes = layout.bytes - layout.heap,
                  .bases = made.bases.data(),
                  .ranks = static_cast<std::uint32_t>(found.team->size()),
                  .left = runtime.progress().is_asked() ? c_api::NearView::kDriveEvery : 0};
}

}  // namespace

extern "C" weft_status weft_near_open(weft_team* team, size_t struct_bytes, weft_near** out) {
    const auto open = [&](const c_api::TeamHandle& found) -> Result<weft_near*> {
        if (struct_bytes != sizeof(weft_near))
            return fail(Status::argument, "struct_bytes is {}, expected {}", struct_bytes,
                        sizeof(weft_near));
        return found.context->view_of(team,
                                      [&](c_api::NearView& made) { fill(made, found, team); });
    };
    return c_api::return_value(__func__, team, out, open);
}

extern "C" void weft_near_drive(weft_near* near) {
    c_api::guarded(__func__, [&]() -> Result<void> {
        if (near == nullptr) return fail(Status::argument, "near is NULL");
        __atomic_store_n(&near->left, c_api::NearView::kDriveEvery, __ATOMIC_RELAXED);
        const auto found = c_api::find(near->team);
        if (!found) return found.failure();
        found->context->runtime().progress().drive();
        return Done{};
    });
}
