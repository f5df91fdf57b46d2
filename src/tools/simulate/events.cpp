// SPDX-License-Identifier: BSD-3-Clause
// events.cpp - simulation by a queue of arrivals, and of messages that enter ports and links.
//
// Idea     A lane runs ahead until it needs a message that has not arrived; its own messages
//          become events. Without contention, an event is an arrival. With contention, a message
//          passes its links in order: it waits until a link is free, and occupies the link while
//          its bytes pass. The latency is added at the end (cut-through). If ranks have several
//          lanes, messages and the steps of processors are executed in one order of time
//          (OrderedRun).
// Holds    Links serve messages in order of arrival, so results depend only on the order of time.
#include "tools/simulate/events.hpp"

#include <queue>
#include <tuple>
#include <unordered_map>

#include "tools/simulate/event_queue.hpp"
#include "tools/simulate/processors.hpp"

namespace weft::lab {

namespace {

/// Messages in flight, and the time at which each link becomes free. With contention, `what` of an
/// event is the index of a flight and `detail` the position of the next link in its route; without,
/// `what` is the target and `detail` the key of an arriving message.
class Traffic {
  public:
    explicit Traffic(const Queueing& queueing) : queueing_(queueing) {}

    /// Adds a departing message; returns its first event.
    [[nodiscard]] Event enter(const Departure& departure) {
        if (!contended())
            return {departure.arrives, static_cast<std::uint32_t>(departure.target), departure.key};
        std::uint32_t id = 0;
        if (free_.empty()) {
            id = static_cast<std::uint32_t>(flights_.size());
            flights_.emplace_back();
        } else {
            id = free_.back();
            free_.pop_back();
        }
        Flight& flight = flights_[id];
        flight.departure = departure;
        flight.links.clear();
        if (queueing_.contention == Contention::links) {
            queueing_.topology.route(departure.source, departure.target, flight.links);
        } else {
            const std::uint64_t out = queueing_.topology.port(departure.source, true);
            const std::uint64_t in = queueing_.topology.port(departure.target, false);
            flight.links = {out, in};
        }
        return {departure.left, id, 0};
    }

    /// Handles an event: calls arrive(target, key, time) if the message has arrived, else
    /// push(next event) after it has entered a link.
    template <class Arrive, class Push>
    void advance(const Event& event, Arrive arrive, Push push) {
        if (!contended()) return arrive(static_cast<Rank>(event.what), event.detail, event.time);
        const Flight& flight = flights_[event.what];
        const Departure departure = flight.departure;  // a copy: arrive() may add flights
        if (event.detail > flight.links.size()) {
            free_.push_back(event.what);
            return arrive(departure.target, departure.key, event.time);
        }
        Event next{event.time + departure.arrives - departure.left, event.what, event.detail + 1};
        if (event.detail < flight.links.size()) {
            Time& free = links_[flight.links[event.detail]];
            next.time = std::max(event.time, free);
            free = next.time + departure.occupancy;
        }
        push(next);
    }

  private:
    [[nodiscard]] bool contended() const { return queueing_.contention != Contention::none; }

    struct Flight {
        Departure departure;
        std::vector<std::uint64_t> links;
    };
    const Queueing& queueing_;
    std::vector<Flight> flights_;
    std::vector<std::uint32_t> free_;                ///< indices of unused flights
    std::unordered_map<std::uint64_t, Time> links_;  ///< time at which each link becomes free
};

/// Simulates ranks with several lanes or shared NICs: processor steps and messages in one order of
/// time. EventQueue cannot be used: it finds its next event only by popping it, and a processor's
/// earlier step may then push an event before the popped one.
class OrderedRun {
  public:
    OrderedRun(std::span<const ImagePart> parts, const SimulationInputs& inputs,
               const Queueing& queueing, const Trace& trace)
        : processors_(parts, inputs, trace), traffic_(queueing) {}

    [[nodiscard]] base::Result<Outcome> run() {
        while (!processors_.idle() || !queue_.empty()) {
            if (queue_.empty() ||
                (!processors_.idle() && processors_.next() < queue_.top().event.time))
                processors_.step([this](const Departure& message) { depart(message); });
            else
                advance();
        }
        base::Result<Outcome> outcome = processors_.outcome();
        if (outcome) outcome->events = events_;
        return outcome;
    }

  private:
    struct Queued {
        Event event;
        std::uint64_t number = 0;

        friend bool operator>(const Queued& a, const Queued& b) {
            return std::tie(a.event.time, a.number) > std::tie(b.event.time, b.number);
        }
    };

    void push(const Event& event) { queue_.push({event, pushed_++}); }
    void depart(const Departure& message) {
        if (message.source == message.target)  // between lanes: needs no port
            return processors_.arrive(message.target, message.key, message.arrives);
        push(traffic_.enter(message));
    }
    void advance() {
        const Event event = queue_.top().event;
        queue_.pop();
        ++events_;
        traffic_.advance(
            event,
            [this](Rank target, std::uint32_t key, Time time) {
                processors_.arrive(target, key, time);
            },
            [this](const Event& next) { push(next); });
    }

    Processors processors_;
    Traffic traffic_;
    std::priority_queue<Queued, std::vector<Queued>, std::greater<>> queue_;
    std::uint64_t pushed_ = 0;
    std::uint64_t events_ = 0;
};

}  // namespace

base::Result<Outcome> simulate_events(std::span<const ImagePart> parts,
                                      const SimulationInputs& inputs, const Queueing& queueing,
                                      const Trace& trace) {
    if (queueing.contention != Contention::none && inputs.model.blocking)
        return base::fail(Status::unsupported,
                          "contention needs a model with messages in flight, not postal");
    if (needs_order(parts)) return OrderedRun(parts, inputs, queueing, trace).run();
    Lanes lanes(parts, ranks_of(parts), inputs, trace);
    lanes.watch();
    Traffic traffic(queueing);
    EventQueue queue;
    std::vector<std::uint32_t> ready;
    const auto run = [&](std::uint32_t lane) {
        lanes.run(lane, [&](const Departure& message) { queue.push(traffic.enter(message)); });
        ready.insert(ready.end(), lanes.woken().begin(), lanes.woken().end());
        lanes.woken().clear();
    };
    const auto run_ready = [&] {
        while (!ready.empty()) {
            const std::uint32_t lane = ready.back();
            ready.pop_back();
            run(lane);
        }
    };
    for (std::uint32_t lane = 0; lane < lanes.count(); ++lane) {
        run(lane);
        run_ready();
    }
    std::uint64_t events = 0;
    std::uint64_t arrived = 0;
    const auto deliver = [&](Rank target, std::uint32_t key, Time time) {
        lanes.deliver(target, key, time, [&](std::uint32_t lane) { ready.push_back(lane); });
        run_ready();
        if ((++arrived & 0xfffff) == 0 && inputs.progress)  // every 2^20 arrivals
            inputs.progress(static_cast<double>(arrived) / static_cast<double>(lanes.raises()));
    };
    while (!queue.empty()) {
        ++events;
        traffic.advance(queue.pop(), deliver, [&](const Event& next) { queue.push(next); });
    }
    base::Result<Outcome> outcome = lanes.outcome();
    if (outcome) outcome->events = events;
    return outcome;
}

}  // namespace weft::lab
