// SPDX-License-Identifier: BSD-3-Clause
#include "run/team/exact_call.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "base/element_types.hpp"
#include "run/job/real_engine.hpp"
#include "run/team/team.hpp"

namespace weft::run {

/// Up to this number of ranks, the raw form takes less time than windows.
constexpr Rank kRawRanks = 8;
/// Number of ranks for calls of at most kRawElementsShort elements, whose time is mostly latency.
constexpr Rank kRawRanksShort = 48;
constexpr std::size_t kRawElementsShort = 64;

/// Elements of a piece. Blocking calls are split into pieces to bound their scratch memory.
constexpr std::size_t kPieceElements = std::size_t{1} << 16;
/// With fewer elements, using the window of all values is faster than agreeing on a range.
constexpr std::size_t kAgreementElementsMin = 8;
/// Largest scratch memory that a team keeps, in bytes. All members keep equal sizes.
constexpr std::size_t kScratchKeptMax = std::size_t{8} << 20;

ExactCall::ExactCall(const Team& team, const Call& call)
    : team_(team),
      call_(call),
      type_(part_type(call.type)),
      counts_(call.in_blocks.counts.begin(), call.in_blocks.counts.end()) {
    const std::size_t parts = type_ == call.type ? 1 : 2;
    call_.type = type_;
    call_.count *= parts;
    for (std::size_t& count : counts_) count *= parts;
    own_ = block(static_cast<std::size_t>(team_.rank()));
}

std::size_t ExactCall::elements() const {
    return scatters() ? start_of(team_.size()) : call_.count;
}

std::size_t ExactCall::start_of(Rank rank) const {
    if (counts_.empty()) return static_cast<std::size_t>(rank) * call_.count;
    return std::accumulate(counts_.begin(), counts_.begin() + rank, std::size_t{0});
}

void ExactCall::find_extents(Extent& input, Extent& output) const {
    const std::uint64_t bytes = base::size_of(type_);
    input = {0, elements() * bytes};
    output = {scatters() ? start_of(team_.rank()) * bytes : 0,
              has_result(call_, team_.rank()) ? own_ * bytes : 0};
}

bool ExactCall::is_raw_best(bool forced, std::size_t words) const {
    if (forced) return false;
    if (scatters() || team_.size() <= kRawRanks) return true;
    if (elements() <= kRawElementsShort) return team_.size() <= kRawRanksShort;
    return static_cast<std::size_t>(team_.size()) <= words * (8 / base::size_of(type_));
}

ExactCall::ScratchBytes ExactCall::scratch_bytes(const std::optional<ExactWindow>& window) const {
    const std::size_t largest = counts_.empty() ? own_ : std::ranges::max(counts_);
    if (window) {
        const std::size_t bytes = window->words() * sizeof(std::int64_t);
        if (!scatters()) return {elements() * bytes, elements() * bytes};
        return {(elements() + own_) * bytes, (elements() + largest) * bytes};
    }
    const std::size_t bytes = static_cast<std::size_t>(team_.size()) * base::size_of(type_);
    const bool receives = call_.collective != Collective::reduce || has_result(call_, team_.rank());
    return {receives ? own_ * bytes : 0, largest * bytes};
}

const Call& ExactCall::gather_raw(std::byte* to) {
    const auto size = static_cast<std::size_t>(team_.size());
    gathered_ = to;
    switch (call_.collective) {
        case Collective::reduce:
            inner_ = Call::gather(call_.in, to, call_.count, type_, call_.root);
            break;
        case Collective::reduce_scatter:
            inner_ = Call::alltoall(call_.in, to, call_.count, type_);
            break;
        case Collective::reduce_scatterv:
            inner_counts_.assign(size, own_);
            inner_ = Call::alltoallv(call_.in, {counts_}, to, {inner_counts_}, type_);
            break;
        default:
            inner_ = Call::allgather(call_.in, to, call_.count, type_);
    }
    inner_.op = Op::exact_sum;
    return inner_;
}

const Call& ExactCall::sum_windows(const ExactWindow& window, std::byte* scratch) {
    window_ = window;
    auto* const words = reinterpret_cast<std::int64_t*>(scratch);
    const auto blocks = scatters() ? static_cast<std::size_t>(team_.size()) : 1;
    std::size_t first = 0;
    for (std::size_t i = 0; i < blocks; first += block(i), ++i)
        to_words(window, type_,
                 static_cast<const std::byte*>(call_.in) + first * base::size_of(type_), block(i),
                 words + first * window.words());
    std::int64_t* const out = scatters() ? words + elements() * window.words() : words;
    gathered_ = reinterpret_cast<const std::byte*>(out);
    inner_counts_ = counts_;
    for (std::size_t& count : inner_counts_) count *= window.words();
    inner_ = call_;
    inner_.in = words;
    inner_.out = out;
    inner_.count = call_.count * window.words();
    inner_.type = Type::int64;
    inner_.in_blocks = {inner_counts_};
    return inner_;
}

void ExactCall::finish() const noexcept {
    if (!has_result(call_, team_.rank())) return;
    if (window_) {
        from_words(*window_, type_, reinterpret_cast<const std::int64_t*>(gathered_), own_,
                   call_.out);
        return;
    }
    const Rank summands = call_.collective == Collective::scan     ? team_.rank() + 1
                          : call_.collective == Collective::exscan ? team_.rank()
                                                                   : team_.size();
    sum_columns(team_.services().kernels.exact(), type_, gathered_, own_,
                static_cast<std::size_t>(summands), own_, call_.out);
}

/// Checks arguments and buffers. For other operations the call's plan does this.
base::Result<void> Team::check_exact(const Call& call) const {
    WEFT_TRY(check_arguments(call, rank(), size()));
    if (!has_exact_sum(call.type))
        return no_operation(call, rank()).within(traits_of(call.collective).name);
    Plan buffers{.call = call};
    buffers.program.element_bytes = element_bytes(call);
    ExactCall(*this, call).find_extents(buffers.input, buffers.output);
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
    ExactCall exact(*this, piece);
    const bool forced = plans_.is_forced(piece.collective);
    std::optional<ExactWindow> window;
    if (!exact.is_raw_best(forced, 1)) {  // no window is smaller than one word
        window = ExactWindow::all(exact.type());
        if (exact.elements() >= kAgreementElementsMin) {
            std::array<std::int64_t, 3> bounds = ExactWindow::bounds(
                range_of(services_.kernels.exact(), exact.type(), piece.in, exact.elements()));
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

const base::Failure* Team::max_over_members(std::span<std::int64_t> numbers) {
    return run(
        Call::allreduce(numbers.data(), numbers.data(), numbers.size(), Type::int64, Op::max),
        Purpose::exact_setup);
}

base::Result<Operation*> Team::start_exact(const Call& call) {
    WEFT_TRY(check_exact(call));
    const auto exact = std::make_shared<ExactCall>(*this, call);
    const auto scratch = std::make_shared<ExactScratch>();
    std::optional<ExactWindow> window = ExactWindow::all(exact->type());
    if (exact->is_raw_best(plans_.is_forced(call.collective), window->words())) window.reset();
    if (!scratch->reserve(exact->scratch_bytes(window).own))
        return base::fail(Status::memory, "{}: no memory for an exact sum of {} elements",
                          traits_of(call.collective).name, call.count);
    return start(exact->inner(window, scratch->data()), [exact, scratch] { exact->finish(); });
}

}  // namespace weft::run
