// SPDX-License-Identifier: BSD-3-Clause
// exchange_stage.hpp - effect of a stage's group on the clocks of its members and remainders.
//
// Idea     A sender's messages leave at equal intervals, so the departure of message k is computed
//          directly. Each receiver receives its messages in order of arrival and combines them.
//          structured.cpp runs this for each group, folded.cpp once for each kind of group.
// Holds    The times equal those of running the ranks' programs. The order of sends and the number
//          of operands match plan/schedule/stage_steps.hpp.
#pragma once

#include <vector>

#include "plan/schedule/stages.hpp"
#include "tools/simulate/simulate.hpp"

namespace weft::lab {

/// Costs of one stage for messages of one size. carries: as Stages::carries.
struct StageCosts {
    StageCosts(const MessageModel& message_model, std::uint64_t bytes, bool carries)
        : model(message_model),
          busy(message_model.busy(bytes) + (message_model.blocking ? message_model.latency : 0)),
          latency(message_model.blocking ? 0 : message_model.latency),
          pace(std::max(busy, message_model.gap)),
          combine(carries ? message_model.combine(bytes, 2) : 0) {}

    const MessageModel& model;
    Time busy;     ///< time for which one message occupies its sender
    Time latency;  ///< time from the end of `busy` to the arrival
    Time pace;     ///< time from the start of one message to the start of the next
    Time combine;  ///< time to combine one operand into another

    /// Returns the start of a clock's next message.
    [[nodiscard]] static Time start(const Clock& clock) {
        return std::max(clock.now, clock.send_free);
    }
    /// Returns the time at which the sender ends message number k = 1, 2, ...
    [[nodiscard]] Time left(Time start, Rank k) const { return start + (k - 1) * pace + busy; }
    /// Advances the clock of a sender over k messages.
    void sent(Clock& clock, Rank k) const {
        if (k == 0) return;
        const Time first = start(clock);
        clock.now = left(first, k);
        clock.send_free = first + (k - 1) * pace + model.gap;
    }
};

/// The exchange of one group. `clocks` has its members first, then its remainders. Use one object
/// for all groups of a stage, to reuse memory.
class GroupExchange {
  public:
    explicit GroupExchange(const ExchangeStage& exchange) : stage_(exchange) {}

    [[nodiscard]] Rank remainders() const { return static_cast<Rank>(clocks.size()) - stage_.base; }
    /// Runs the exchange of the group. latency(a, b): latency from clocks[a]'s rank to clocks[b]'s.
    template <class Latency>
    void run(const StageCosts& costs, Latency latency);

    /// Returns the number, from 1 on, of the message to `receiver` among those of `sender`.
    [[nodiscard]] Rank message_number(Rank sender, Rank receiver) const {
        if (stage_.receivers == Members::last) return 1;
        const Rank ahead = (receiver - sender + stage_.base) % stage_.base;
        const bool passed_last = stage_.receivers == Members::all_but_last &&
                                 sender != stage_.base - 1 && receiver < sender;
        return passed_last ? ahead - 1 : ahead;
    }

    std::vector<Clock> clocks;

  private:
    [[nodiscard]] Rank messages_to_members(Rank sender) const {
        return stage_.count_of(stage_.receivers) - (stage_.receives(sender) ? 1 : 0);
    }
    void receive(Clock& clock, const StageCosts& costs, bool with_own) {
        const auto operands = static_cast<Time>(arrivals_.size()) - (with_own ? 0 : 1);
        clock.receive_all(costs.model, arrivals_);
        clock.now += operands * costs.combine;
    }

    const ExchangeStage& stage_;
    std::vector<Time> starts_;
    std::vector<Time> arrivals_;
};

template <class Latency>
void GroupExchange::run(const StageCosts& costs, Latency latency) {
    const Rank base = stage_.base;
    const Rank all = static_cast<Rank>(clocks.size());
    const auto at = [](Rank index) { return static_cast<std::size_t>(index); };
    starts_.clear();
    for (const Clock& clock : clocks) starts_.push_back(StageCosts::start(clock));
    for (Rank i = 0; i < base; ++i) {
        if (!stage_.sends(i)) continue;
        const Rank to_remainders = stage_.remainders_receive ? remainders() : 0;
        costs.sent(clocks[at(i)], messages_to_members(i) + to_remainders);
    }
    for (Rank i = base; i < all && stage_.remainders_send; ++i)
        costs.sent(clocks[at(i)], stage_.count_of(stage_.receivers));

    const auto arrive = [&](Rank from, Rank to, Rank k) {
        arrivals_.push_back(costs.left(starts_[at(from)], k) + latency(from, to));
    };
    for (Rank to = 0; to < base; ++to) {
        if (!stage_.receives(to)) continue;
        arrivals_.clear();
        for (Rank from = base; from < all && stage_.remainders_send; ++from)
            arrive(from, to, stage_.receivers == Members::last ? 1 : to + 1);
        for (Rank from = 0; from < base; ++from)
            if (from != to && stage_.sends(from)) arrive(from, to, message_number(from, to));
        receive(clocks[at(to)], costs, stage_.keeps_own);
    }
    for (Rank to = base; to < all && stage_.remainders_receive; ++to) {
        arrivals_.clear();
        for (Rank from = 0; from < base; ++from)
            if (stage_.sends(from)) arrive(from, to, messages_to_members(from) + 1 + to - base);
        receive(clocks[at(to)], costs, false);
    }
}

}  // namespace weft::lab
