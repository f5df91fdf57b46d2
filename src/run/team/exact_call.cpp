// SPDX-License-Identifier: BSD-3-Clause
#include "run/team/exact_call.hpp"

#include <algorithm>
#include <numeric>

#include "base/element_types.hpp"

namespace weft::run {

namespace {

/// Up to this number of ranks, the raw form takes less time than windows.
constexpr Rank kRawRanks = 8;
/// Number of ranks for calls of at most kRawElementsShort elements, whose time is mostly latency.
constexpr Rank kRawRanksShort = 48;
constexpr std::size_t kRawElementsShort = 64;

}  // namespace

ExactCall::ExactCall(const ExactMember& member, const Call& call)
    : member_(member),
      call_(call),
      type_(part_type(call.type)),
      counts_(call.in_blocks.counts.begin(), call.in_blocks.counts.end()) {
    const std::size_t parts = type_ == call.type ? 1 : 2;
    call_.type = type_;
    call_.count *= parts;
    for (std::size_t& count : counts_) count *= parts;
    own_ = block(static_cast<std::size_t>(member_.rank));
}

std::size_t ExactCall::elements() const {
    return scatters() ? start_of(member_.size) : call_.count;
}

/// Returns the first element of a rank's block.
std::size_t ExactCall::start_of(Rank rank) const {
    if (counts_.empty()) return static_cast<std::size_t>(rank) * call_.count;
    return std::accumulate(counts_.begin(), counts_.begin() + rank, std::size_t{0});
}

void ExactCall::find_extents(Extent& input, Extent& output) const {
    const std::uint64_t bytes = base::size_of(type_);
    input = {0, elements() * bytes};
    output = {scatters() ? start_of(member_.rank) * bytes : 0,
              has_result(call_, member_.rank) ? own_ * bytes : 0};
}

bool ExactCall::is_raw_best(bool forced, std::size_t words) const {
    if (forced) return false;
    if (scatters() || member_.size <= kRawRanks) return true;
    if (elements() <= kRawElementsShort) return member_.size <= kRawRanksShort;
    return static_cast<std::size_t>(member_.size) <= words * (8 / base::size_of(type_));
}

ExactRange ExactCall::range() const {
    return range_of(*member_.kernels, type_, call_.in, elements());
}

ExactCall::ScratchBytes ExactCall::scratch_bytes(const std::optional<ExactWindow>& window) const {
    const std::size_t largest = counts_.empty() ? own_ : std::ranges::max(counts_);
    if (window) {
        const std::size_t bytes = window->words() * sizeof(std::int64_t);
        if (!scatters()) return {elements() * bytes, elements() * bytes};
        return {(elements() + own_) * bytes, (elements() + largest) * bytes};
    }
    const std::size_t bytes = static_cast<std::size_t>(member_.size) * base::size_of(type_);
    const bool receives = call_.collective != Collective::reduce || has_result(call_, member_.rank);
    return {receives ? own_ * bytes : 0, largest * bytes};
}

const Call& ExactCall::gather_raw(std::byte* to) {
    const auto size = static_cast<std::size_t>(member_.size);
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
    const auto blocks = scatters() ? static_cast<std::size_t>(member_.size) : 1;
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
    if (!has_result(call_, member_.rank)) return;
    if (window_) {
        from_words(*window_, type_, reinterpret_cast<const std::int64_t*>(gathered_), own_,
                   call_.out);
        return;
    }
    const Rank summands = call_.collective == Collective::scan     ? member_.rank + 1
                          : call_.collective == Collective::exscan ? member_.rank
                                                                   : member_.size;
    sum_columns(*member_.kernels, type_, gathered_, own_, static_cast<std::size_t>(summands), own_,
                call_.out);
}

}  // namespace weft::run
