// SPDX-License-Identifier: BSD-3-Clause
// generic.cpp - the engine that takes any programs: lanes go on as far as they can, in waves.
//
// Idea     Lanes are taken first come first served. A lane that misses something is taken up again
//          when it has come, behind all that were ready before; so each wave runs through the ranks
//          in order, and memory is read and written in streams.
// Holds    Every message is delivered once and every lane is run once more than it is stopped: time
//          follows the number of messages.
#include "plan/simulate/lanes.hpp"

namespace weft::plan {

base::Result<Outcome> simulate_generic(std::span<const ImagePart> parts,
                                       const Surroundings& surroundings, const Trace& trace) {
    if (surroundings.contention != Contention::none)
        return base::fail(Status::unsupported, "the generic engine knows no contention");
    Lanes lanes(parts, surroundings, trace);
    std::vector<std::uint32_t> wave(lanes.count());
    for (std::size_t i = 0; i < wave.size(); ++i) wave[i] = static_cast<std::uint32_t>(i);
    std::vector<std::uint32_t> next;
    std::uint64_t sent = 0;
    while (!wave.empty()) {
        const auto ready = [&next](std::uint32_t lane) { next.push_back(lane); };
        for (const std::uint32_t lane : wave) {
            lanes.run(lane, [&](const Departure& message) {
                ++sent;
                lanes.deliver(message.target, message.key, message.arrives, ready);
            });
            for (const std::uint32_t reader : lanes.woken()) next.push_back(reader);
            lanes.woken().clear();
        }
        wave.clear();
        std::swap(wave, next);
        if (surroundings.progress)
            surroundings.progress(static_cast<double>(sent) /
                                  static_cast<double>(std::max<std::uint64_t>(1, lanes.raises())));
    }
    return lanes.outcome();
}

}  // namespace weft::plan
