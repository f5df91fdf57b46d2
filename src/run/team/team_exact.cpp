// SPDX-License-Identifier: BSD-3-Clause
// team_exact.cpp - calls of Op::exact_sum of a team: validation, pieces and the choice of the form.
#include <algorithm>
#include <array>
#include <memory>
#include <new>

#include "run/job/real_engine.hpp"
#include "run/team/team.hpp"

namespace weft::run {

namespace {

/// A blocking call is made in pieces of this number of elements, to bound its scratch memory.
constexpr std::size_t kPieceElements = std::size_t{1} << 16;
/// Up to this number of elements, an agreement takes longer than the window of all values.
constexpr std::size_t kAgreementMin = 8;
}  // namespace

const Plan* Team::find_exact_plan(const Call& call) {
    const bool is_known = static_cast<int>(call.type) < kBuiltinTypes;
    if (is_known && !has_exact_sum(call.type)) {
        failure_ = no_operation(call, rank()).within(traits_of(call.collective).name);
        return nullptr;
    }
    Registers memory;
    return find_plan(call, Purpose::itself, memory);
}

const base::Failure* Team::run_exact(const Call& call) {
    const Plan* const plan = find_exact_plan(call);
    if (plan == nullptr) return &failure_;
    if (size() <= 2) {
        if (const base::Failure* const why = run(*plan, plan->registers(call))) return why;
        if (!has_result(call, rank())) return nullptr;
        const auto counts = call.in_blocks.counts;
        const std::size_t own = counts.empty() ? call.count : counts[std::size_t(rank())];
        unify_nans(call.type, call.out, own);
        return nullptr;
    }
    const ExactMember member{rank(), size(), &services_.kernels.exact()};
    const bool whole = call.collective == Collective::reduce_scatter ||
                       call.collective == Collective::reduce_scatterv;
    Call piece = call;
    std::size_t done = 0;
    do {
        piece.count = whole ? call.count : std::min(call.count - done, kPieceElements);
        if (const base::Failure* const why = run_exact_piece(member, piece)) return why;
        done += piece.count;
        const std::size_t bytes = piece.count * base::size_of(call.type);
        if (piece.in != nullptr) piece.in = static_cast<const std::byte*>(piece.in) + bytes;
        if (piece.out != nullptr) piece.out = static_cast<std::byte*>(piece.out) + bytes;
    } while (done < call.count && !whole);
    exact_scratch_.trim();
    return nullptr;
}

const base::Failure* Team::run_exact_piece(const ExactMember& member, const Call& piece) {
    ExactCall exact(member, piece);
    const bool forced = plans_.is_forced(piece.collective);
    std::optional<ExactWindow> window;
    if (!exact.is_best_raw(forced, 1)) {
        window = ExactWindow::all(exact.type());
        if (exact.elements() >= kAgreementMin) {
            std::array<std::int64_t, 3> bounds = ExactWindow::bounds(exact.range());
            if (const base::Failure* const why =
                    run(Call::allreduce(bounds.data(), bounds.data(), bounds.size(), Type::int64,
                                        Op::max),
                        Purpose::exact_range))
                return why;
            window = ExactWindow::within(bounds);
        }
        if (exact.is_best_raw(forced, window->words())) window.reset();
    }
    const Call& inner =
        window ? exact.sum_windows(*window, exact_scratch_) : exact.gather_raw(exact_scratch_);
    Registers memory;
    const Plan* const plan = find_plan(inner, Purpose::itself, memory);
    if (plan == nullptr) return &failure_;
    if (const base::Failure* const why = run(*plan, memory)) return why;
    exact.finish();
    return nullptr;
}

base::Result<Operation*> Team::start_exact(const Call& call) {
    struct Started {
        Started(const ExactMember& member, const Call& call) : exact(member, call) {}
        ExactScratch scratch;
        ExactCall exact;
    };
    if (find_exact_plan(call) == nullptr) return failure_;
    try {
        const ExactMember member{rank(), size(), &services_.kernels.exact()};
        const auto started = std::make_shared<Started>(member, call);
        ExactCall& exact = started->exact;
        const ExactWindow window = ExactWindow::all(exact.type());
        const Call& inner = exact.is_best_raw(plans_.is_forced(call.collective), window.words())
                                ? exact.gather_raw(started->scratch)
                                : exact.sum_windows(window, started->scratch);
        Registers memory;
        const Plan* const plan = find_plan(inner, Purpose::itself, memory);
        if (plan == nullptr) return failure_;
        Operation& op = engine_.start(*state_, plan->program, memory, plan->reducer,
                                      [started] { started->exact.finish(); });
        services_.progress.wake_thread();
        return &op;
    } catch (const std::bad_alloc&) {
        return base::fail(Status::memory, "{}: no memory for an exact sum of {} elements",
                          traits_of(call.collective).name, call.count);
    }
}

}  // namespace weft::run
