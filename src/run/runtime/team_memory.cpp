// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/team_memory.hpp"

#include <algorithm>
#include <cstring>

#include "run/job/real_engine.hpp"
#include "run/runtime/runtime.hpp"

namespace weft::run {

base::Result<std::byte*> TeamMemory::allocate(std::uint64_t bytes, std::uint64_t alignment) {
    const Runtime::Setup setup = runtime_.begin_setup();
    if (runtime_.finalized()) return team_.state().failure;
    if (runtime_.heap().has_abandoned(team_)) {
        if (auto settled = runtime_.settle_onesided(); !settled) return settled.failure();
    }
    const auto offset = runtime_.heap().allocate(team_, {bytes, alignment});
    if (!offset) return offset.failure();
    return runtime_.at(*offset);
}

base::Result<void> TeamMemory::free(const void* memory) {
    const Runtime::Setup setup = runtime_.begin_setup();
    if (runtime_.finalized()) return team_.state().failure;
    const std::uint64_t offset = runtime_.heap_offset(memory);
    if (offset == link::kNoOffset)
        return base::fail(Status::argument, "free: the pointer is not in the symmetric heap");
    if (auto settled = runtime_.settle_onesided(); !settled) return settled;
    return runtime_.heap().free(team_, offset);
}

/// No member returns from free() before all members have copied their data.
base::Result<std::byte*> TeamMemory::reallocate(const void* memory, std::uint64_t bytes,
                                                std::uint64_t alignment) {
    if (runtime_.finalized()) return team_.state().failure;
    const std::uint64_t offset = runtime_.heap_offset(memory);
    const auto before = runtime_.heap().bytes_of(team_, offset);
    if (!before)
        return base::fail(Status::argument,
                          "realloc: the pointer is not the start of memory that was allocated on "
                          "this team and is still in use");
    if (auto settled = runtime_.settle_onesided(); !settled) return settled.failure();
    auto moved = allocate(bytes, alignment);
    if (!moved) return moved;
    std::memcpy(*moved, memory, std::min(*before, bytes));
    if (auto freed = runtime_.heap().free(team_, offset); !freed) return freed.failure();
    return moved;
}

void TeamMemory::abandon(const void* memory) {
    const Runtime::Setup setup = runtime_.begin_setup();
    const std::uint64_t offset = runtime_.heap_offset(memory);
    if (offset != link::kNoOffset) runtime_.heap().abandon(team_, offset);
}

std::byte* TeamMemory::on_member(const void* memory, Rank member) const {
    if (member < 0 || member >= team_.size() || runtime_.finalized()) return nullptr;
    if (std::byte* const there = runtime_.on_rank(memory, team_.job_rank(member))) return there;
    const auto found = runtime_.registered().find(team_, memory, 0, member);
    if (!found || !*found) return nullptr;
    return runtime_.onesided().reach(team_.job_rank(member), **found);
}

base::Result<std::byte*> TeamMemory::enter(void* memory, std::uint64_t bytes) {
    const Runtime::Setup setup = runtime_.begin_setup();
    if (runtime_.finalized()) return team_.state().failure;
    return runtime_.registered().add(team_, static_cast<std::byte*>(memory), bytes);
}

base::Result<void> TeamMemory::withdraw(const void* name) {
    const Runtime::Setup setup = runtime_.begin_setup();
    if (runtime_.finalized()) return team_.state().failure;
    return runtime_.registered().remove(team_, name);
}

}  // namespace weft::run
