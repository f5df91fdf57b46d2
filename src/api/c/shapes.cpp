// SPDX-License-Identifier: BSD-3-Clause
// shapes.cpp - C functions of onesided.h that OpenSHMEM programs need: teams by stride, row and
// column; memory that is cleared or resized; collectives with strides and with unknown counts.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "api/c/calls.hpp"
#include "base/element_types.hpp"

using namespace weft;
using namespace weft::c_api;

namespace {

Result<void> run_call(run::Team& team, const CallArguments& arguments) {
    const auto call = WEFT_TRY(to_call(team, arguments));
    return team.run(call);
}

/// Returns true if a buffer fits into the address space. It has `count` elements of `bytes` bytes
/// for each member; consecutive elements start `stride` elements after each other.
bool fits(std::size_t count, std::size_t members, std::size_t bytes, std::size_t stride) {
    constexpr auto kBytesMax = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
    return count == 0 || stride <= kBytesMax / bytes / members / count;
}

/// Copies `count` elements of `bytes` bytes. Strides are in elements.
void copy_elements(std::byte* to, std::size_t to_stride, const std::byte* from,
                   std::size_t from_stride, std::size_t count, std::size_t bytes) {
    for (std::size_t i = 0; i < count; ++i)
        std::memcpy(to + i * to_stride * bytes, from + i * from_stride * bytes, bytes);
}

}  // namespace

// --- teams ---------------------------------------------------------------------------------------

extern "C" weft_status weft_team_split_strided(weft_team* team, int start, int stride, int size,
                                               weft_team** out) {
    const auto split = [&](const TeamHandle& found) -> Result<weft_team*> {
        return found.context->handle_for(
            found.teams().split_strided(*found.team, start, stride, size));
    };
    return return_value(__func__, team, out, split);
}

extern "C" weft_status weft_team_split_2d(weft_team* team, int x_range, weft_team** row,
                                          weft_team** column) {
    return on(__func__, team, [&](const TeamHandle& found) -> Result<void> {
        if (row == nullptr || column == nullptr)
            return fail(Status::argument, "row or column is NULL");
        if (x_range < 1)
            return fail(Status::argument, "x_range is {}, expected 1 or more", x_range);
        const auto split = [&](int color) {
            return found.context->handle_for(
                found.teams().split(*found.team, color, found.team->rank()));
        };
        // Splits twice even if the first split fails: it may have failed on this rank alone.
        const auto in_row = split(found.team->rank() / x_range);
        const auto in_column = split(found.team->rank() % x_range);
        if (!in_row || !in_column) {
            for (const auto& made : {in_row, in_column})
                if (made) weft_team_drop(*made);
            return (in_row ? in_column : in_row).failure();
        }
        *row = *in_row;
        *column = *in_column;
        return Done{};
    });
}

extern "C" int weft_team_translate(const weft_team* from, int rank, const weft_team* to) {
    return value_or(-1, __func__, from, [&](const TeamHandle& source) -> Result<int> {
        const auto target = WEFT_TRY(find(to));
        if (source.context != target.context)
            return fail(Status::argument, "the teams belong to different runtimes");
        WEFT_TRY(check_rank(*source.team, "rank", rank));
        const Rank wanted = source.team->job_rank(rank);
        for (Rank member = 0; member < target.team->size(); ++member)
            if (target.team->job_rank(member) == wanted) return member;
        return -1;
    });
}

// --- symmetric memory ----------------------------------------------------------------------------

extern "C" weft_status weft_calloc(weft_team* team, size_t count, size_t bytes, void** out) {
    const auto allocate = [&](const TeamHandle& found) -> Result<std::byte*> {
        if (bytes != 0 && count > std::numeric_limits<std::size_t>::max() / bytes)
            return fail(Status::memory, "{} times {} bytes exceed the address space", count, bytes);
        const auto memory = found.heap().allocate(*found.team, {count * bytes, link::kHeapGranule});
        if (!memory) return memory;
        std::memset(*memory, 0, count * bytes);
        // No member returns before all memory is cleared.
        WEFT_TRY(run_call(*found.team, {Collective::barrier}));
        return memory;
    };
    return return_value(__func__, team, out, allocate);
}

extern "C" weft_status weft_realloc(weft_team* team, void** memory, size_t bytes) {
    return on(__func__, team, [&](const TeamHandle& found) -> Result<void> {
        if (memory == nullptr) return fail(Status::argument, "memory is NULL");
        if (*memory != nullptr && bytes == 0) {
            auto freed = found.heap().free(*found.team, *memory);
            if (freed) *memory = nullptr;
            return freed;
        }
        const link::HeapRequest request{bytes, link::kHeapGranule};
        return store(*memory == nullptr ? found.heap().allocate(*found.team, request)
                                        : found.heap().reallocate(*found.team, *memory, request),
                     memory);
    });
}

// --- collectives ---------------------------------------------------------------------------------

extern "C" weft_status weft_alltoall_strided(weft_team* team, const void* in, size_t in_stride,
                                             void* out, size_t out_stride, size_t count,
                                             weft_type type) {
    return on(__func__, team, [&](const TeamHandle& found) -> Result<void> {
        const std::size_t bytes = base::size_of(WEFT_TRY(type_of(type)));
        if (in_stride == 0 || out_stride == 0)
            return fail(Status::argument, "strides are {} and {}, expected 1 or more", in_stride,
                        out_stride);
        const auto members = static_cast<std::size_t>(found.team->size());
        if (!fits(count, members, bytes, std::max(in_stride, out_stride)))
            return fail(Status::argument,
                        "count: {} elements of {} bytes for each of {} ranks at strides of {} and "
                        "{} exceed the address space",
                        count, bytes, members, in_stride, out_stride);
        const std::size_t elements = count * members;
        if (in == WEFT_IN_PLACE || out == WEFT_IN_PLACE)
            return fail(Status::argument, "in or out is in place, expected two buffers");
        if (elements != 0 && (in == nullptr || out == nullptr))
            return fail(Status::argument, "in or out is NULL, expected {} bytes", elements * bytes);
        std::vector<std::byte> sent(elements * bytes);
        std::vector<std::byte> received(elements * bytes);
        copy_elements(sent.data(), 1, static_cast<const std::byte*>(in), in_stride, elements,
                      bytes);
        WEFT_TRY(run_call(*found.team,
                          {Collective::alltoall, sent.data(), received.data(), count, type}));
        copy_elements(static_cast<std::byte*>(out), out_stride, received.data(), 1, elements,
                      bytes);
        return Done{};
    });
}

extern "C" weft_status weft_collect(weft_team* team, const void* in, size_t count, void* out,
                                    size_t* counts, weft_type type) {
    return on(__func__, team, [&](const TeamHandle& found) -> Result<void> {
        WEFT_TRY(type_of(type));
        std::vector<std::uint64_t> all_counts(static_cast<std::size_t>(found.team->size()));
        const std::uint64_t own = count;
        WEFT_TRY(run_call(*found.team,
                          {Collective::allgather, &own, all_counts.data(), 1, WEFT_UINT64}));
        if (counts != nullptr) std::copy(all_counts.begin(), all_counts.end(), counts);
        return run_call(*found.team, {.collective = Collective::allgatherv,
                                      .in = in,
                                      .out = out,
                                      .type = type,
                                      .out_blocks = {.counts = all_counts.data()}});
    });
}
