// SPDX-License-Identifier: BSD-3-Clause
#include "api/c/calls.hpp"

#include <memory>
#include <numeric>

#include "base/element_types.hpp"
#include "collectives/collective_traits.hpp"

namespace weft::c_api {

using collectives::InPlace;
using collectives::VectorPart;

namespace {

/// Returns the blocks of all members. `name`: of the argument `counts`, for a failure.
Result<Blocks> blocks_of(const run::Team& team, std::string_view name,
                         const BlockArguments& arguments) {
    if (arguments.counts == nullptr) return fail(Status::argument, "{} is NULL", name);
    return arguments.of(static_cast<std::size_t>(team.size()));
}

/// Sets the blocks of a call, if this rank has passed counts.
Result<void> set_blocks(const run::Team& team, const CallArguments& arguments, Call& call) {
    const collectives::CollectiveTraits& traits = collectives::traits_of(arguments.collective);
    if (traits.rooted() && arguments.root != team.rank()) return {};
    const bool both = traits.has_input_counts() && traits.has_output_counts();
    if (traits.has_input_counts())
        call.in_blocks =
            WEFT_TRY(blocks_of(team, both ? "in_counts" : "counts", arguments.in_blocks));
    if (traits.has_output_counts())
        call.out_blocks =
            WEFT_TRY(blocks_of(team, both ? "out_counts" : "counts", arguments.out_blocks));
    return {};
}

/// Fails if an argument is WEFT_IN_PLACE that must be memory.
Result<void> check_in_place(const run::Team& team, const CallArguments& arguments,
                            const void* given_out) {
    const collectives::CollectiveTraits& traits = collectives::traits_of(arguments.collective);
    const bool in = arguments.in == WEFT_IN_PLACE;
    const bool out = given_out == WEFT_IN_PLACE;
    if (!traits.has_data() || (!in && !out)) return {};
    // lint: allow(variable): a macro of core.h
    constexpr std::string_view kInPlace = "WEFT_IN_PLACE";
    if (traits.in_place == InPlace::never && arguments.in == given_out)  // a broadcast
        return fail(Status::argument, "the buffer is {}, expected memory", kInPlace);
    if (in && traits.in_place != InPlace::input)
        return fail(
            Status::argument, "in is {}, expected memory{}", kInPlace,
            traits.in_place == InPlace::output ? "; only `out` of the root may be in place" : "");
    if (out && traits.in_place != InPlace::output)
        return fail(Status::argument, "out is {}, expected memory{}", kInPlace,
                    traits.in_place == InPlace::input ? "; only `in` may be in place" : "");
    if (traits.rooted() && traits.blocks() && arguments.root != team.rank())
        return fail(Status::argument,
                    "{} is {} on rank {}, expected memory: only the root, rank {}, has all blocks",
                    in ? "in" : "out", kInPlace, team.rank(), arguments.root);
    return {};
}

/// Returns the start of this rank's block in the buffer with all blocks, in elements.
std::uint64_t start_of_own_block(const run::Team& team, const Call& call) {
    const auto rank = static_cast<std::size_t>(team.rank());
    const Blocks& blocks = call.in_blocks.counts.empty() ? call.out_blocks : call.in_blocks;
    if (blocks.counts.empty()) return rank * call.count;
    if (!blocks.displacements.empty()) return blocks.displacements[rank];
    const auto earlier = blocks.counts.first(rank);
    return std::accumulate(earlier.begin(), earlier.end(), std::uint64_t{0});
}

/// Resolves WEFT_IN_PLACE: derives both addresses from the argument that is memory, the buffer with
/// all blocks.
void resolve_in_place(const run::Team& team, Call& call) {
    const collectives::CollectiveTraits& traits = collectives::traits_of(call.collective);
    auto* const buffer =
        static_cast<std::byte*>(call.out == WEFT_IN_PLACE ? const_cast<void*>(call.in) : call.out);
    const auto address_of = [&](VectorPart part) {
        if (part != VectorPart::own_block || buffer == nullptr) return buffer;
        return buffer + start_of_own_block(team, call) * run::element_bytes(call);
    };
    call.in = address_of(traits.input);
    call.out = address_of(traits.output);
    // The root's own count is the count of its own block.
    const Blocks& blocks = call.in_blocks.counts.empty() ? call.out_blocks : call.in_blocks;
    if (traits.rooted() && !blocks.counts.empty()) call.count = blocks.counts[team.rank()];
}

}  // namespace

Result<Call> to_call(const run::Team& team, const CallArguments& arguments) {
    // A reduce ignores `out` on other ranks than the root.
    const bool ignores_out =
        arguments.collective == Collective::reduce && arguments.root != team.rank();
    void* const out = ignores_out && arguments.out == WEFT_IN_PLACE ? nullptr : arguments.out;
    WEFT_TRY(check_in_place(team, arguments, out));
    const auto type = WEFT_TRY(type_of(arguments.type));
    Call call{.collective = arguments.collective,
              .in = arguments.in,
              .out = out,
              .count = arguments.count,
              .type = type,
              .root = arguments.root};
    WEFT_TRY(set_operation(call, arguments.op));
    WEFT_TRY(set_blocks(team, arguments, call));
    if (call.in == WEFT_IN_PLACE || call.out == WEFT_IN_PLACE) resolve_in_place(team, call);
    return call;
}

weft_status start(const char* function, weft_team* handle, const CallArguments& arguments,
                  weft_request** request) noexcept {
    const auto begin = [&](const TeamHandle& found, CallRequest& made) -> Result<void> {
        const auto call = WEFT_TRY(to_call(*found.team, arguments));
        return store(found.team->start(call), &made.operation);
    };
    return return_request(function, handle, request, begin);
}

weft_status prepare(const char* function, weft_team* handle, const CallArguments& arguments,
                    weft_request** request) noexcept {
    const auto make = [&](const TeamHandle& found, CallRequest& made) -> Result<void> {
        const auto call = WEFT_TRY(to_call(*found.team, arguments));
        made.persistent = std::make_unique<const Call>(WEFT_TRY(found.team->prepare(call)));
        made.team = handle;
        return Done{};
    };
    return return_request(function, handle, request, make);
}

}  // namespace weft::c_api
