// SPDX-License-Identifier: BSD-3-Clause
// structured.cpp - engine for algorithms in stages, with one pass over all ranks for each stage.
//
// Idea     The clocks of all ranks form one row. An exchange of whole groups over uniform latency
//          is a maximum over rows at a distance of `stride`, computed in tiles that stay in the
//          cache. Other stages are computed group by group (exchange_stage.hpp).
// Why      Neither programs nor messages are in memory, only a few clocks for each rank. A million
//          ranks take little more than one addition for each message.
// Holds    The times equal those of the generic engine for the programs of these stages.
#include <algorithm>

#include "tools/simulate/exchange_stage.hpp"

namespace weft::lab {

namespace {

class Structured {
  public:
    Structured(const Stages& stages, const BufferSize& size, const SimulationInputs& inputs)
        : stages_(stages), size_(size), inputs_(inputs) {
        const auto ranks = static_cast<std::size_t>(stages.size());
        now_.resize(ranks, 0);
        for (const auto& [rank, start] : inputs.starts)
            now_[static_cast<std::size_t>(rank)] = start;
        if (inputs_.model.gap > 0) {
            send_free_.resize(ranks, 0);
            receive_free_.resize(ranks, 0);
        }
        if (!inputs_.noise.is_none()) waits_.resize(ranks, 0);
        ranks_of_.resize(stages.numberings.size());
    }

    Outcome run() {
        const std::uint64_t bytes = stages_.carries ? size_.elements * size_.element_bytes : 0;
        const StageCosts costs(inputs_.model, bytes, stages_.carries);
        Outcome outcome;
        for (std::size_t i = 0; i < stages_.stages.size(); ++i) {
            std::visit([&](const auto& kind) { run_stage(kind, costs); }, stages_.stages[i]);
            outcome.messages += raises_of(stages_, stages_.stages[i]);
            report(i);
        }
        outcome.events = 2 * outcome.messages;  // each is awaited once
        const auto [first, last] = std::minmax_element(now_.begin(), now_.end());
        outcome.earliest_finish = *first;
        outcome.makespan = *last;
        return outcome;
    }

  private:
    /// Returns the rank of each number of a numbering; empty if each number is its rank.
    const std::vector<Rank>& ranks_of(std::uint32_t numbering) {
        std::vector<Rank>& ranks = ranks_of_[numbering];
        if (numbering == 0 || !ranks.empty()) return ranks;
        const Numbering& own = stages_.numberings[numbering];
        const std::vector<Rank>& outer = ranks_of(own.outer);
        ranks.reserve(static_cast<std::size_t>(own.count));
        for (const RankRun& run : own.runs)
            for (Rank i = 0; i < run.count; ++i) {
                const Rank number = run.outer_of(i);
                ranks.push_back(outer.empty() ? number : outer[static_cast<std::size_t>(number)]);
            }
        return ranks;
    }

    [[nodiscard]] Clock clock_of(Rank rank) const {
        const auto at = static_cast<std::size_t>(rank);
        if (send_free_.empty()) return {now_[at], 0, 0};
        return {now_[at], send_free_[at], receive_free_[at]};
    }
    void set_clock(Rank rank, const Clock& clock) {
        const auto at = static_cast<std::size_t>(rank);
        now_[at] = clock.now;
        if (send_free_.empty()) return;
        send_free_[at] = clock.send_free;
        receive_free_[at] = clock.receive_free;
    }
    void add_noise(Rank rank) {
        if (waits_.empty()) return;
        const auto at = static_cast<std::size_t>(rank);
        now_[at] += inputs_.noise.delay(rank, 0, waits_[at]++);
    }

    /// Runs a stage for all ranks, like the second run_stage() for a shift.
    void run_stage(const ExchangeStage& exchange, const StageCosts& costs) {
        const std::vector<Rank>& ranks = ranks_of(exchange.numbering);
        const bool whole = exchange.senders == Members::all && exchange.receivers == Members::all &&
                           exchange.remainders == kNoRemainders;
        if (!whole || !inputs_.uniform() || !inputs_.takes_no_time_to_receive()) {
            run_groups(exchange, costs, ranks);
            return;
        }
        if (ranks.empty()) {
            advance(exchange, costs, now_);
        } else {
            row_.clear();
            for (const Rank rank : ranks) row_.push_back(now_[static_cast<std::size_t>(rank)]);
            advance(exchange, costs, row_);
            for (std::size_t i = 0; i < row_.size(); ++i)
                now_[static_cast<std::size_t>(ranks[i])] = row_[i];
        }
        if (waits_.empty()) return;
        for (Rank number = 0; number < exchange.members(); ++number)
            add_noise(ranks.empty() ? number : ranks[static_cast<std::size_t>(number)]);
    }

    /// Runs an exchange of all members with all in each group, over uniform latency. row: the clock
    /// of each number.
    void advance(const ExchangeStage& exchange, const StageCosts& costs, std::vector<Time>& row) {
        const auto base = static_cast<std::size_t>(exchange.base);
        const auto stride = static_cast<std::size_t>(exchange.stride);
        const std::size_t tile = std::clamp<std::size_t>(kTileEntries / base, 1, stride);
        tile_.resize(base * tile);
        const Time combine = (exchange.base - 1) * costs.combine;
        for (std::size_t block = 0; block < row.size(); block += base * stride) {
            for (std::size_t offset = 0; offset < stride; offset += tile) {
                const std::size_t width = std::min(tile, stride - offset);
                Time* const first = row.data() + block + offset;
                for (std::size_t j = 0; j < base; ++j)
                    std::copy_n(first + j * stride, width, tile_.data() + j * tile);
                for (std::size_t j = 0; j < base; ++j)
                    exchange_row(costs, tile_.data(), tile, base, j, combine, first + j * stride,
                                 width);
            }
        }
    }

    /// Computes the new clocks of the members at position j, for `width` adjacent groups.
    static void exchange_row(const StageCosts& costs, const Time* old, std::size_t pitch,
                             std::size_t base, std::size_t j, Time combine, Time* __restrict into,
                             std::size_t width) {
        const Time own = costs.left(0, static_cast<Rank>(base) - 1) + combine;
        const Time* const mine = old + j * pitch;
        for (std::size_t w = 0; w < width; ++w) into[w] = mine[w] + own;
        Time other = costs.busy + costs.latency + combine;
        for (std::size_t k = 1; k < base; ++k, other += costs.pace) {
            const Time* const theirs = old + (j >= k ? j - k : j + base - k) * pitch;
            for (std::size_t w = 0; w < width; ++w) into[w] = std::max(into[w], theirs[w] + other);
        }
    }

    /// Runs an exchange of any kind, group by group.
    void run_groups(const ExchangeStage& exchange, const StageCosts& costs,
                    const std::vector<Rank>& ranks) {
        const Remainders remainders = stages_.remainders_of(exchange);
        static const std::vector<Rank> none;
        const std::vector<Rank>& remainder_ranks =
            exchange.remainders == kNoRemainders ? none : ranks_of(exchange.remainders);
        GroupExchange group_exchange(exchange);
        std::vector<Rank> group_ranks;
        for (Rank group = 0; group < exchange.groups; ++group) {
            group_ranks.clear();
            for (Rank j = 0; j < exchange.base; ++j) {
                const Rank number = exchange.member(group, j);
                group_ranks.push_back(ranks.empty() ? number
                                                    : ranks[static_cast<std::size_t>(number)]);
            }
            for (Rank k = 0; k < remainders.count_in(group); ++k)
                group_ranks.push_back(
                    remainder_ranks[static_cast<std::size_t>(remainders.number(group, k))]);
            group_exchange.clocks.clear();
            for (const Rank rank : group_ranks) group_exchange.clocks.push_back(clock_of(rank));
            if (inputs_.uniform()) {
                group_exchange.run(costs, [&](Rank, Rank) { return costs.latency; });
            } else {
                group_exchange.run(costs, [&](Rank from, Rank to) {
                    return inputs_.network->latency(group_ranks[static_cast<std::size_t>(from)],
                                                    group_ranks[static_cast<std::size_t>(to)]);
                });
            }
            for (std::size_t i = 0; i < group_ranks.size(); ++i) {
                set_clock(group_ranks[i], group_exchange.clocks[i]);
                const auto position = static_cast<Rank>(i);
                const bool waited = position < exchange.base ? exchange.receives(position)
                                                             : exchange.remainders_receive;
                if (waited) add_noise(group_ranks[i]);
            }
        }
    }

    void run_stage(const ShiftStage& shift, const StageCosts& costs) {
        const std::int64_t size = stages_.numberings[shift.numbering].count;
        const auto ahead = static_cast<Rank>(std::min(shift.radix - 1, (size - 1) / shift.reach));
        const std::vector<Rank>& ranks = ranks_of(shift.numbering);
        const auto rank_of = [&](std::int64_t number) {
            return ranks.empty() ? static_cast<Rank>(number)
                                 : ranks[static_cast<std::size_t>(number)];
        };
        if (ahead == 0) return;
        row_.resize(static_cast<std::size_t>(size));
        for (std::int64_t i = 0; i < size; ++i)
            row_[static_cast<std::size_t>(i)] = StageCosts::start(clock_of(rank_of(i)));
        const bool simple =
            inputs_.uniform() && inputs_.takes_no_time_to_receive() && ranks.empty();
        if (simple) {
            shift_row(shift, costs, ahead);
        } else {
            std::vector<Time> arrivals;
            for (std::int64_t i = 0; i < size; ++i) {
                arrivals.clear();
                for (Rank j = 1; j <= ahead; ++j) {
                    const std::int64_t from = (i - j * shift.reach + size) % size;
                    const Time latency = inputs_.uniform()
                                             ? costs.latency
                                             : inputs_.network->latency(rank_of(from), rank_of(i));
                    arrivals.push_back(costs.left(row_[static_cast<std::size_t>(from)], j) +
                                       latency);
                }
                Clock clock = clock_of(rank_of(i));
                costs.sent(clock, ahead);
                clock.receive_all(inputs_.model, arrivals);
                set_clock(rank_of(i), clock);
            }
        }
        if (waits_.empty()) return;
        for (std::int64_t i = 0; i < size; ++i) add_noise(rank_of(i));
    }

    /// Runs a shift of all ranks over uniform latency: combines the row with itself, shifted by
    /// each distance.
    void shift_row(const ShiftStage& shift, const StageCosts& costs, Rank ahead) {
        const std::size_t size = now_.size();
        for (std::size_t i = 0; i < size; ++i) now_[i] = costs.left(row_[i], ahead);
        for (Rank j = 1; j <= ahead; ++j) {
            const auto distance = static_cast<std::size_t>(j * shift.reach);
            const Time later = costs.left(0, j) + costs.latency;
            const auto join = [later](Time* into, const Time* from, std::size_t count) {
                for (std::size_t i = 0; i < count; ++i)
                    into[i] = std::max(into[i], from[i] + later);
            };
            join(now_.data() + distance, row_.data(), size - distance);
            join(now_.data(), row_.data() + (size - distance), distance);
        }
    }

    void report(std::size_t stage) const {
        if (!inputs_.progress) return;
        inputs_.progress((static_cast<double>(stage) + 1) /
                         static_cast<double>(stages_.stages.size()));
    }

    // 16 KiB of entries of 8 bytes: half of a first-level cache of 32 KiB.
    static constexpr std::size_t kTileEntries = 2048;

    const Stages& stages_;
    const BufferSize& size_;
    const SimulationInputs& inputs_;
    // Members of Clock, by rank.
    std::vector<Time> now_;
    std::vector<Time> send_free_;              ///< empty without gaps
    std::vector<Time> receive_free_;           ///< empty without gaps
    std::vector<std::uint32_t> waits_;         ///< receptions so far, by rank; empty without noise
    std::vector<std::vector<Rank>> ranks_of_;  ///< results of ranks_of(), by numbering
    std::vector<Time> row_;                    ///< clocks of the stage's numbers
    std::vector<Time> tile_;                   ///< old clocks of the tile in work
};

}  // namespace

base::Result<Outcome> simulate_structured(const Stages& stages, const BufferSize& size,
                                          const SimulationInputs& inputs) {
    if (inputs.needs_steps(size.elements * size.element_bytes) || stages.interleaves)
        return base::fail(
            Status::unsupported,
            "stages contain no copies, segments in flight, two-way costs or bursts; use --engine "
            "generic");
    if (inputs.model.blocking && !inputs.uniform())
        return base::fail(
            Status::unsupported,
            "the structured engine supports the postal model over uniform latency only");
    return Structured(stages, size, inputs).run();
}

}  // namespace weft::lab
