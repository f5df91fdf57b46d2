// SPDX-License-Identifier: BSD-3-Clause
// team_exact.cpp - calls of Op::exact_sum of a team: validation, pieces, raw or window form.
#include <algorithm>
#include <array>
#include <bit>
#include <memory>

#include "run/job/real_engine.hpp"
#include "run/team/team.hpp"

namespace weft::run {

namespace {

/// Elements of a piece. Blocking calls are split into pieces to bound their scratch memory.
constexpr std::size_t kPieceElements = std::size_t{1} << 16;
/// With fewer elements, using the window of all values is faster than agreeing on a range.
constexpr std::size_t kAgreementElementsMin = 8;
/// Largest scratch memory that a team keeps, in bytes. All members keep equal sizes.
constexpr std::size_t kScratchKeptMax = std::size_t{8} << 20;

}  // namespace

/// Checks arguments and buffers. For other operations the call's plan does this.
base::Result<void> Team::check_exact(const Call& call) const {
    WEFT_TRY(check_arguments(call, rank(), size()));
    if (!has_exact_sum(call.type))
        return no_operation(call, rank()).within(traits_of(call.collective).name);
    Plan buffers{.call = call};
    buffers.program.element_bytes = element_bytes(call);
    ExactCall({rank(), size(), &services_.kernels.exact()}, call)
        .find_extents(buffers.input, buffers.output);
    const Registers memory = buffers.registers(call);
    if (!buffers.accepts(memory)) return buffers.refusal(memory);
    return {};
}

const base::Failure* Team::run_exact(const Call& call) {
    if (size() <= 2 && has_exact_sum(call.type)) return run_exact_pair(call);
    if (auto checked = check_exact(call); !checked) {
        failure_ = checked.failure();
        return &failure_;
    }
    // A piece of each block of a reduce_scatter would not be contiguous.
    const bool cannot_split = call.collective == Collective::reduce_scatter ||
                              call.collective == Collective::reduce_scatterv;
    ExactScratch temporary;
    Call piece = call;
    std::size_t done = 0;
    do {
        piece.count = cannot_split ? call.count : std::min(call.count - done, kPieceElements);
        if (const base::Failure* const why = run_exact_piece(piece, temporary)) return why;
        done += piece.count;
        const std::size_t bytes = piece.count * base::size_of(call.type);
        if (piece.in != nullptr) piece.in = static_cast<const std::byte*>(piece.in) + bytes;
        if (piece.out != nullptr) piece.out = static_cast<std::byte*>(piece.out) + bytes;
    } while (done < call.count && !cannot_split);
    return nullptr;
}

/// Runs a plain sum, which is exact with one or two ranks, and replaces NaNs by the standard NaN.
const base::Failure* Team::run_exact_pair(const Call& call) {
    Registers memory;
    const Plan* const plan = find_plan(call, Purpose::user_call, memory);
    if (plan == nullptr) return &failure_;
    if (const base::Failure* const why = run(*plan, memory)) return why;
    if (!has_result(call, rank())) return nullptr;
    const auto counts = call.in_blocks.counts;
    unify_nans(call.type, call.out, counts.empty() ? call.count : counts[std::size_t(rank())]);
    return nullptr;
}

const base::Failure* Team::run_exact_piece(const Call& piece, ExactScratch& temporary) {
    ExactCall exact({rank(), size(), &services_.kernels.exact()}, piece);
    const bool forced = plans_.is_forced(piece.collective);
    std::optional<ExactWindow> window;
    if (!exact.is_raw_best(forced, 1)) {  // no window is smaller than one word
        window = ExactWindow::all(exact.type());
        if (exact.elements() >= kAgreementElementsMin) {
            std::array<std::int64_t, 3> bounds = ExactWindow::bounds(exact.range());
            if (const base::Failure* const why = max_over_members(bounds)) return why;
            window = ExactWindow::within(bounds);
        }
        if (exact.is_raw_best(forced, window->words())) window.reset();
    }
    const auto bytes = exact.scratch_bytes(window);
    const bool kept = bytes.max <= kScratchKeptMax;
    ExactScratch& scratch = kept ? exact_scratch_ : temporary;
    if (!kept || bytes.max > scratch.size()) {
        // All members must fail if one has no memory: the others would wait in the inner call.
        const bool reserved = scratch.reserve(kept ? std::bit_ceil(bytes.max) : bytes.own);
        std::int64_t rank_without_memory[] = {reserved ? -1 : rank()};
        if (const base::Failure* const why = max_over_members(rank_without_memory)) return why;
        if (rank_without_memory[0] >= 0) {
            scratch = {};
            failure_ = base::fail(
                Status::memory, "{}: rank {} cannot allocate up to {} bytes for an exact sum",
                traits_of(piece.collective).name, rank_without_memory[0], bytes.max);
            return &failure_;
        }
    }
    const Call& inner = exact.inner(window, scratch.data());
    Registers memory;
    const Plan* const plan = find_plan(inner, Purpose::user_call, memory);
    if (plan == nullptr) return &failure_;
    if (const base::Failure* const why = run(*plan, memory)) return why;
    exact.finish();
    return nullptr;
}

/// Replaces numbers by their maxima over all members.
const base::Failure* Team::max_over_members(std::span<std::int64_t> numbers) {
    return run(
        Call::allreduce(numbers.data(), numbers.data(), numbers.size(), Type::int64, Op::max),
        Purpose::exact_setup);
}

base::Result<Operation*> Team::start_exact(const Call& call) {
    WEFT_TRY(check_exact(call));
    const ExactMember member{rank(), size(), &services_.kernels.exact()};
    const auto exact = std::make_shared<ExactCall>(member, call);
    const auto scratch = std::make_shared<ExactScratch>();
    std::optional<ExactWindow> window = ExactWindow::all(exact->type());
    if (exact->is_raw_best(plans_.is_forced(call.collective), window->words())) window.reset();
    if (!scratch->reserve(exact->scratch_bytes(window).own))
        return base::fail(Status::memory, "{}: no memory for an exact sum of {} elements",
                          traits_of(call.collective).name, call.count);
    Registers memory;
    const Plan* const plan =
        find_plan(exact->inner(window, scratch->data()), Purpose::user_call, memory);
    if (plan == nullptr) return failure_;
    Operation& op = engine_.start(*state_, plan->program, memory, plan->reducer,
                                  [exact, scratch] { exact->finish(); });
    services_.progress.wake_thread();
    return &op;
}

}  // namespace weft::run
