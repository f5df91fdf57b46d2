// SPDX-License-Identifier: BSD-3-Clause
// clock.hpp - time of a lane, and the names of plan that the simulator uses.
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
using plan::VectorSize;

/// Time of a lane.
struct Clock {
    Time now = 0;
    Time send_free = 0;     ///< earliest start of the next send
    Time receive_free = 0;  ///< earliest start of the next reception

    friend bool operator==(const Clock&, const Clock&) = default;

    /// Sends one message; returns the time of its arrival.
    Time send(const MessageModel& model, Time busy, Time latency) {
        const Time start = std::max(now, send_free);
        send_free = start + model.gap;
        now = start + busy;
        if (model.blocking) return now += latency;
        return now + latency;
    }
    /// Receives one message; returns the time at which all of it has arrived. A waiting receiver
    /// takes its bytes as they arrive; a busy one starts when it becomes free.
    Time receive(const MessageModel& model, Arrival arrival) {
        const Time start = std::max(std::max(now, receive_free) + arrival.work, arrival.time);
        receive_free = start + model.gap;
        now = start + model.receive;
        return start;
    }
    Time receive(const MessageModel& model, Time arrival) {
        return receive(model, Arrival{arrival});
    }
    /// Receives all messages in order of arrival, and leaves them sorted. Calls each() with the
    /// start of each reception.
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
