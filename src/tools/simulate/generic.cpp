// SPDX-License-Identifier: BSD-3-Clause
// generic.cpp - engine for any programs, which runs lanes in waves as far as arrivals allow.
//
// Idea     Sweeps over all lanes in order repeat while a sweep passes at least one reception for
//          each eight lanes. Memory is then read and written in streams, and a delivery is a store.
//          If a sweep passes fewer (a chain of messages against the order of ranks), the waiting
//          lanes are watched. A watched lane is queued behind the ready lanes when its message
//          arrives. Ranks with several lanes or shared NICs run in order of time (processors.hpp).
// Holds    After its first run, a watched lane is run only when the message for which it stopped
//          has arrived. The time is therefore proportional to the number of messages.
#include "tools/simulate/lanes.hpp"
#include "tools/simulate/processors.hpp"

namespace weft::lab {

namespace {

/// Sweeps first over blocks of lanes, which stay in the cache while lanes of a block send to each
/// other, then over all lanes. Sweeps are repeated while they pass enough receptions.
class Sweeps {
  public:
    Sweeps(Lanes& lanes, const SimulationInputs& inputs, std::uint64_t receptions)
        : lanes_(lanes), inputs_(inputs), receptions_(receptions) {}

    void run() {
        const std::uint32_t count = lanes_.count();
        for (std::uint32_t first = 0; first < count; first += kBlock)
            while (sweep_progresses(first, std::min(count, first + kBlock))) continue;
        while (sweep_progresses(0, count)) continue;
    }

  private:
    static constexpr std::uint32_t kBlock = 1 << 14;  // lanes
    static constexpr std::uint64_t kLanesPerReception = 8;

    /// Sweeps over lanes first .. last-1. Returns true if another sweep is worth its time.
    bool sweep_progresses(std::uint32_t first, std::uint32_t last) {
        const std::uint64_t passed = lanes_.sweep(first, last);
        passed_ += passed;
        if (inputs_.progress)
            inputs_.progress(static_cast<double>(passed_) / static_cast<double>(receptions_));
        return passed > 0 && passed * kLanesPerReception >= last - first;
    }

    Lanes& lanes_;
    const SimulationInputs& inputs_;
    std::uint64_t receptions_;
    std::uint64_t passed_ = 0;
};

base::Result<Outcome> simulate_processors(std::span<const ImagePart> parts,
                                          const SimulationInputs& inputs, const Trace& trace) {
    Processors processors(parts, inputs, trace);
    processors.run_ahead();
    while (!processors.idle())
        processors.step([&](const Departure& message) {
            processors.arrive(message.target, message.key, message.arrives);
        });
    return processors.outcome();
}

std::uint64_t receptions_in(std::span<const ImagePart> parts) {
    std::uint64_t receptions = 0;
    for (const ImagePart& part : parts) receptions += part.pieces().rows().size();
    return std::max<std::uint64_t>(1, receptions);
}

}  // namespace

base::Result<Outcome> simulate_generic(std::span<const ImagePart> parts,
                                       const SimulationInputs& inputs, const Trace& trace) {
    if (needs_order(parts)) return simulate_processors(parts, inputs, trace);
    Lanes lanes(parts, ranks_of(parts), inputs, trace);
    Sweeps(lanes, inputs, receptions_in(parts)).run();
    std::vector<std::uint32_t> wave;
    for (std::uint32_t i = 0; i < lanes.count(); ++i)
        if (!lanes.is_done(i)) wave.push_back(i);
    if (wave.empty()) return lanes.outcome();
    lanes.watch();
    std::vector<std::uint32_t> next;
    while (!wave.empty()) {
        const auto ready = [&next](std::uint32_t lane) { next.push_back(lane); };
        for (const std::uint32_t lane : wave) {
            lanes.run(lane, [&](const Departure& message) {
                lanes.deliver(message.target, message.key, message.arrives, ready);
            });
            for (const std::uint32_t reader : lanes.woken()) next.push_back(reader);
            lanes.woken().clear();
        }
        wave.clear();
        std::swap(wave, next);
    }
    return lanes.outcome();
}

}  // namespace weft::lab
