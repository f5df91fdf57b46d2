// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/shared_work.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "plan/select/executed_steps.hpp"
#include "plan/select/put_models.hpp"

namespace weft::plan {

namespace {

__extension__ using Wide = __int128;

// Measured with streams of calls on machines with two processors (decision 9). If two ranks have a
// processor each, lines come from the other processor's cache. Short stores to local peers proceed
// in the background, and a reader waits for them. A sender of the same long bytes to several
// receivers has them in its cache.
constexpr SharedCosts kPair{.sent = 1000, .sent_shared = 1000, .received = 667};
constexpr SharedCosts kShortOnNode{.received = 1000, .overlapping = 0, .busiest = 500};
constexpr SharedCosts kShortBetween{.received = 1000, .overlapping = 16};
constexpr SharedCosts kLongOnNode{
    .sent = 600, .sent_shared = 300, .fetched = 600, .overlapping = 2};
constexpr SharedCosts kLongBetween{
    .sent = 600, .sent_shared = 300, .received = 600, .overlapping = 2};

/// Largest message that the buffers of a connection hold.
constexpr std::uint64_t kHeldBytes = std::uint64_t{256} << 10;
/// Largest buffer that stays in a cache from one call to the next while other ranks put into it.
constexpr std::uint64_t kDirectMax = std::uint64_t{2} << 20;

bool is_mapped(const Block& block) {
    return block.buffer == Buffer::mapped;
}
bool is_exposed(const Step& step) {
    return step.kind == StepKind::expose;
}

/// Returns the stratum of each rank.
std::vector<Stratum> strata_of(const Machine& machine, Rank size) {
    const auto node = [&](Rank rank) {
        return machine.node_of.empty() ? 0 : machine.node_of[static_cast<std::size_t>(rank)];
    };
    Rank nodes = 1;
    for (Rank rank = 1; rank < size; ++rank) nodes += node(rank) != node(rank - 1) ? 1 : 0;
    std::vector<Stratum> strata;
    Rank first = 0;  // first rank of the node
    for (Rank rank = 0; rank < size; ++rank) {
        if (node(rank) != node(first)) first = rank;
        const bool is_low = rank - first < nodes;
        const bool is_last = rank + 1 == size || node(rank) != node(rank + 1);
        if (rank == 0)
            strata.push_back(Stratum::root);
        else if (rank == first || is_last)
            strata.push_back(Stratum::borders);
        else if (node(rank) == node(0))
            strata.push_back(is_low ? Stratum::first_low : Stratum::first_rest);
        else
            strata.push_back(is_low ? Stratum::low : Stratum::rest);
    }
    return strata;
}

}  // namespace

std::vector<CountedRank> counted_ranks(const Machine& machine, Rank size,
                                       std::span<const Rank> sampled, std::size_t steps,
                                       std::size_t per_stratum) {
    constexpr std::size_t kStepsOfStratum = 4000;
    std::vector<CountedRank> counted;
    if (per_stratum >= static_cast<std::size_t>(size)) {
        for (Rank rank = 0; rank < size; ++rank) counted.push_back({.rank = rank});
        return counted;
    }
    std::vector<bool> taken(static_cast<std::size_t>(size));
    const auto take = [&](const CountedRank& rank) {
        taken[static_cast<std::size_t>(rank.rank)] = true;
        counted.push_back(rank);
    };
    take({.rank = 0});
    for (const Rank rank : sampled)
        if (!taken[static_cast<std::size_t>(rank)]) take({.rank = rank});
    const auto analyzed_max = static_cast<std::int64_t>(
        std::clamp<std::size_t>(kStepsOfStratum / std::max<std::size_t>(1, steps), 1, per_stratum));
    std::array<std::vector<Rank>, kStrata> strata;
    const std::vector<Stratum> stratum_of = strata_of(machine, size);
    for (Rank rank = 0; rank < size; ++rank) {
        if (taken[static_cast<std::size_t>(rank)]) continue;
        Stratum stratum = stratum_of[static_cast<std::size_t>(rank)];
        if (analyzed_max == 1) stratum = std::min(stratum, Stratum::first_low);
        strata[static_cast<std::size_t>(stratum)].push_back(rank);
    }
    for (const std::vector<Rank>& stratum : strata) {
        const auto ranks = static_cast<std::int64_t>(stratum.size());
        const std::int64_t analyzed = std::min(ranks, analyzed_max);
        for (std::int64_t i = 0; i < analyzed; ++i)
            take({stratum[static_cast<std::size_t>((2 * i + 1) * ranks / (2 * analyzed))], ranks,
                  analyzed});
    }
    return counted;
}

SharedWork::SharedWork(const Machine& machine, Rank size, const BufferSize& buffer,
                       const Program& first, bool whole)
    : machine_(machine),
      size_(size),
      buffer_(buffer),
      adds_all_ranks_(whole),
      loads_(at(size)),
      strata_(strata_of(machine, size)),
      counted_(at(size)),
      represents_(at(size)) {
    const Paths paths = paths_of(machine);
    several_nodes_ = paths != Paths::near;
    all_far_ = paths == Paths::far;
    const std::uint64_t bytes = buffer.elements * buffer.element_bytes;
    is_short_ = bytes <= kShortBytes;
    unsynchronized_ = !first.synchronizing;
    only_puts_ = std::ranges::none_of(first.blocks, is_mapped) &&
                 std::ranges::none_of(first.steps, is_exposed);
    one_way_pair_ = !machine.oversubscribed() && size == 2 && !several_nodes_ && unsynchronized_ &&
                    only_puts_ && bytes <= kHeldBytes;
    model_ = put_models(machine, /*waits=*/false, /*computes=*/true).model;
    if (one_way_pair_)
        costs_ = kPair;
    else if (several_nodes_)
        costs_ = is_short_ ? kShortBetween : kLongBetween;
    else
        costs_ = is_short_ ? kShortOnNode : kLongOnNode;
    // If payloads do not use put targets, a stream does not wait for free targets.
    const bool direct =
        several_nodes_ && !only_puts_ && first.slot_units == 0 && bytes <= kDirectMax;
    const bool held = bytes <= kHeldBytes && (several_nodes_ || only_puts_);
    if (!unsynchronized_ || !(is_short_ || held || direct)) costs_.overlapping = 1;
}

std::size_t SharedWork::processor_of(Rank rank) const {
    const auto on_host = static_cast<std::size_t>(machine_.host_ranks);
    const auto processors = static_cast<std::size_t>(machine_.host_processors);
    return at(rank) / on_host * processors + at(rank) % on_host * processors / on_host;
}

Time SharedWork::local_put_time(std::uint64_t bytes, std::int64_t permille) const {
    return to_time(static_cast<std::int64_t>(bytes) * machine_.near.byte_fs) * permille / 1000;
}

/// Returns the time to copy long payloads out of put targets that other nodes have filled. Short
/// payloads are in the cache, and within a node the copy is part of the cost of a put.
Time SharedWork::unpack_time(std::uint64_t bytes) const {
    if (!several_nodes_ || is_short_) return 0;
    return to_time(static_cast<std::int64_t>(bytes) * machine_.slot_byte_fs);
}

/// Returns the receiver's time for a message of `bytes` bytes.
Time SharedWork::receive_time(const PutCost& cost, bool far, std::uint64_t bytes) const {
    if (far) return cost.receive + to_time(static_cast<std::int64_t>(bytes) * cost.byte_fs);
    const Time slot_time = bytes > machine_.cell_bytes ? cost.slot : 0;
    return cost.receive + local_put_time(bytes, costs_.received) + slot_time;
}

/// Adds a step that sends a message, or waits for one.
void SharedWork::add_message(Rank rank, const ExecutedStep& step, RankWork& work) {
    if (step.peer == rank) return;  // signals between lanes take no time
    const Time times = step.times;
    const bool far = is_far(rank, step.peer);
    const PutCost& cost = far ? machine_.far : machine_.near;
    if (step.kind == StepKind::wait) {
        if (!adds_all_ranks_) work.load += times * receive_time(cost, far, step.room);
        return;
    }
    const Time byte_time = to_time(static_cast<std::int64_t>(step.bytes) * cost.byte_fs);
    const Time slot_time = step.bytes > machine_.cell_bytes ? cost.slot : 0;
    // Both ends handle the bytes of remote messages.
    work.moving += times * (cost.issue + cost.receive + slot_time + byte_time * (far ? 2 : 1));
    if (step.peer != kNoRank && adds_all_ranks_)
        loads_[at(step.peer)] += times * receive_time(cost, far, step.bytes);
    if (far || step.peer == kNoRank) {
        work.load += times * (byte_time + cost.issue + slot_time);
        return;
    }
    work.load += times * local_put_time(step.bytes, step.shared ? costs_.sent_shared : costs_.sent);
    if (processor_of(step.peer) == processor_of(rank)) return;
    work.crossing_messages += times;
    work.unshared_messages += step.shared ? 0 : times;
}

/// Adds the reductions and copies of a step.
void SharedWork::add_bytes(const ExecutedStep& step, bool in_pieces, RankWork& work) const {
    const Time times = step.times;
    if (step.kind == StepKind::reduce) {
        const bool in_place = step.mapped_buffers > 0;
        const std::uint32_t payloads = in_place ? 0 : step.operands - 1;
        work.combining += times * model_.combine(step.bytes, step.operands, in_place);
        if (step.bytes > machine_.cell_bytes) work.combined_payloads += times * payloads;
        work.load += times * local_put_time(step.bytes * payloads, costs_.fetched);
    }
    const bool cached = in_pieces && step.slot_bytes <= kCachedPiece;
    work.combining += times * (model_.touch(step.mapped_buffers, step.mapped_bytes) +
                               model_.copy(step.own_bytes) +
                               unpack_time(step.slot_bytes) / (cached ? kCachedPart : 1));
    work.load += times * local_put_time(step.slot_bytes, costs_.fetched);
}

void SharedWork::add(const Program& program, const CountedRank& counted) {
    const Rank rank = program.rank;
    const std::uint64_t bytes = buffer_.elements * buffer_.element_bytes;
    const bool in_pieces = program.segments > 1 && bytes > kCachedPiece;
    const bool cold = model_.is_cold(bytes);
    const ExecutedSteps::Wanted wanted{.own = !is_short_ || model_.copy_byte_fs > 0,
                                       .memory = cold};
    const auto near = [&](Rank peer) { return !is_far(rank, peer); };
    RankWork work;
    std::uint64_t memory = 0;
    ExecutedSteps(program, buffer_, wanted).for_each_once([&](const ExecutedStep& step) {
        if (step.kind != StepKind::put || near(step.peer)) memory += step.memory_bytes * step.times;
        if (step.message || step.kind == StepKind::wait)
            add_message(rank, step, work);
        else
            add_bytes(step, in_pieces, work);
    });
    // If buffers are used in place, ranks wait for each line from another processor.
    if (!several_nodes_ && std::ranges::any_of(program.steps, is_exposed))
        work.combining += work.crossing_messages * machine_.near.latency;
    if (cold)
        work.combining += to_time(static_cast<std::int64_t>(memory) *
                                  model_.cold_fs_of(buffer_bytes(program, buffer_)));
    if (model_.expose > 0) work.combining += model_.expose * exposed_buffers(program, near);
    work.combining += unpack_time(exposed_slot_bytes(program, buffer_, near));
    sum_ += static_cast<Time>(Wide{work.moving + work.combining} * counted.stratum_ranks /
                              counted.analyzed_ranks);
    unshared_messages_ = std::max(unshared_messages_, work.unshared_messages - 1);
    combined_payloads_ = std::max(combined_payloads_, work.combined_payloads - 1);
    loads_[at(rank)] += work.load + work.combining;
    counted_[at(rank)] = true;
    represents_[at(rank)] = counted.stratum_ranks > counted.analyzed_ranks;
}

/// Returns the work of the busiest processor. Ranks that were not counted have as much work as the
/// mean of their stratum.
Time SharedWork::busiest_processor_work() const {
    std::array<Time, kStrata> mean{};  // the sum of the loads, until it is divided
    std::array<std::int64_t, kStrata> ranks{};
    const auto stratum = [&](std::size_t rank) { return static_cast<std::size_t>(strata_[rank]); };
    for (std::size_t rank = 0; rank < loads_.size(); ++rank) {
        if (!represents_[rank]) continue;
        mean[stratum(rank)] += loads_[rank];
        ++ranks[stratum(rank)];
    }
    // One rank may represent all strata from first_low on (counted_ranks()).
    constexpr auto kOthers = static_cast<std::size_t>(Stratum::first_low);
    const Time others = std::accumulate(mean.begin() + kOthers, mean.end(), Time{0});
    const auto other_ranks = std::accumulate(ranks.begin() + kOthers, ranks.end(), std::int64_t{0});
    for (std::size_t i = 0; i < kStrata; ++i)
        mean[i] =
            ranks[i] == 0 ? others / std::max<std::int64_t>(1, other_ranks) : mean[i] / ranks[i];
    Time largest = 0;
    Time sum = 0;
    std::size_t current = 0;  // processor of the preceding rank
    for (std::size_t rank = 0; rank < loads_.size(); ++rank) {
        const std::size_t processor = processor_of(static_cast<Rank>(rank));
        const Time load = counted_[rank] ? loads_[rank] : mean[stratum(rank)];
        sum = processor == current ? sum + load : load;
        current = processor;
        largest = std::max(largest, sum);
    }
    return largest;
}

/// Returns S (shared_work.hpp).
Time SharedWork::processor_work() const {
    const auto mean =
        static_cast<Time>(Wide{sum_} * machine_.host_ranks / machine_.host_processors / size_);
    Time shared = mean;
    if (unsynchronized_)
        shared += std::max<Time>(0, busiest_processor_work() - mean) * costs_.busiest / 1000;
    if (several_nodes_ || !overlaps()) return shared;
    // A root waits for each line that another processor has read or written.
    return shared + unshared_messages_ * machine_.near.latency +
           (is_short_ ? combined_payloads_ * machine_.near.slot : 0);
}

/// Returns the time to synchronize all ranks, which a stream does once for each half of the banks
/// (run/execute/window.hpp). Estimated as a dissemination barrier between nodes.
Time SharedWork::synchronization_time() const {
    std::vector<Rank> nodes = machine_.node_of;
    std::ranges::sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    const auto rounds = static_cast<Time>(std::bit_width(nodes.size() - 1));
    const Wide messages = Wide{rounds} * static_cast<Time>(nodes.size());
    return rounds * latency_of(machine_, machine_.far) +
           static_cast<Time>(messages * (machine_.far.issue + machine_.far.receive) *
                             machine_.host_ranks / machine_.host_processors / size_);
}

CallTimes SharedWork::times(Time waits, Time added_wait, Time work, std::uint32_t banks) const {
    const Time shared = processor_work();
    CallTimes found;
    found.alone = found.in_stream = waits + std::max(work, shared) + machine_.calls();
    if (!overlaps()) return found;
    found.in_stream = shared + added_wait + machine_.calls();
    if (costs_.overlapping == 0) return found;
    Time calls = costs_.overlapping;
    if (!is_short_ && several_nodes_ && banks > 0) {
        const Time synchronized_calls = std::max<Time>(1, banks / 2);
        calls = std::min(synchronized_calls, Time{kShortBetween.overlapping});
        found.in_stream += synchronization_time() / synchronized_calls;
    }
    found.in_stream += (waits - added_wait) / calls;
    return found;
}

CallTimes SharedWork::unshared_times(Time simulated, const Program& first) const {
    if (one_way_pair_) return {simulated, std::ranges::max(loads_)};
    const std::uint64_t bytes = buffer_.elements * buffer_.element_bytes;
    const bool exchange = size_ == 2 && !several_nodes_ && !unsynchronized_ && only_puts_ &&
                          !is_short_ && bytes <= kHeldBytes;
    if (!exchange) return {simulated, simulated};
    // Each of two ranks copies the other's data.
    std::uint64_t copied = 0;
    ExecutedSteps(first, buffer_, {.own = true}).for_each_once([&](const ExecutedStep& step) {
        copied += step.slot_bytes * step.times;
    });
    const Time time = simulated + local_put_time(copied, kPair.received);
    return {time, time};
}

}  // namespace weft::plan
