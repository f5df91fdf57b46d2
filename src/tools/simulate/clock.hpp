// SPDX-License-Identifier: BSD-3-Clause
// clock.hpp - clock of a lane. Also imports the names of namespace plan that the simulator uses.
//
// Next     plan/select/model.hpp for the costs of a message; simulate.hpp for the engines.
#pragma once

#include <algorithm>
#include <vector>

#include "plan/schedule/stages.hpp"
#include "plan/select/model.hpp"

namespace weft::lab {

using plan::Arrival;
using plan::Block;
using plan::BlockList;
using plan::BufferSize;
using plan::ExchangeStage;
using plan::kNoRank;
using plan::kNoRemainders;
using plan::Members;
using plan::MessageModel;
using plan::Numbering;
using plan::Program;
using plan::RankRun;
using plan::Remainders;
using plan::ShiftStage;
using plan::Stage;
using plan::Stages;
using plan::Time;

/// Clock of a lane: times in picoseconds that decide when its next actions start.
struct Clock {
    Time now = 0;
    Time send_free = 0;       ///< earliest start of the next send
    Time receive_free = 0;    ///< earliest start of the next reception
    bool extended = false;    ///< the model has two-way costs or costs of messages in a row
    std::uint32_t burst = 0;  ///< messages sent since the last reception
    /// Begin and end of the rank's last messages in flight, without a pause between them.
    Time flights_begin = 0;
    Time flights_end = 0;

    [[nodiscard]] static bool extends(const MessageModel& model) {
        return model.has_two_way() || model.has_bursts();
    }
    friend bool operator==(const Clock&, const Clock&) = default;

    /// Returns the start of the next message.
    [[nodiscard]] Time next_send(const MessageModel& model) const {
        return std::max(now, extended ? send_free - model.slack() : send_free);
    }
    /// Sends one message that occupies the sender for `busy`; returns the time of its arrival.
    Time send(const MessageModel& model, Time busy, Time latency) {
        const Time start = next_send(model);
        send_free = extended ? std::max(send_free, start) + model.gap : start + model.gap;
        now = start + busy;
        if (extended) now += model.burst_time(++burst);
        const Time arrives = now + latency;
        if (model.blocking) now = arrives;
        if (!extended) return arrives;
        if (start >= flights_end) flights_begin = start;
        flights_end = std::max(flights_end, arrives);
        return arrives;
    }
    /// Receives one message; returns the time at which the receiver has processed all its bytes. A
    /// waiting receiver processes bytes as they arrive; a busy one starts when it becomes free.
    Time receive(const MessageModel& model, Arrival arrival) {
        const Time free = extended ? receive_free - model.slack() : receive_free;
        const Time start = std::max(std::max(now, free) + arrival.work, arrival.time);
        receive_free = (extended ? std::max(receive_free, start) : start) + model.gap;
        now = start + model.receive;
        burst = 0;
        return start;
    }
    Time receive(const MessageModel& model, Time arrival) {
        return receive(model, Arrival{arrival});
    }
    /// Receives all messages in order of arrival, and leaves them sorted. Calls each() with the
    /// result of each receive().
    template <class Any, class Each>
    void receive_all(const MessageModel& model, std::vector<Any>& arrivals, const Each& each) {
        if (arrivals.size() > 1) std::sort(arrivals.begin(), arrivals.end());
        for (const Any& arrival : arrivals) each(receive(model, arrival));
    }
    template <class Any>
    void receive_all(const MessageModel& model, std::vector<Any>& arrivals) {
        receive_all(model, arrivals, [](Time) {});
    }
};

}  // namespace weft::lab
