// SPDX-License-Identifier: BSD-3-Clause
// simulate.hpp - when would each rank be done, if messages cost what the model says?
//
// Idea     Programs are static, so without shared links the answer is a longest path: any order in
//          which a reception comes after its sends gives it exactly. Engines differ in what they
//          read:
//            generic     all ranks' programs (as an image), lane by lane as far as arrivals allow
//            structured  the stages of an algorithm, all ranks of a stage at once
//            folded      the same for sets of equal ranks, whatever their number
// Holds    All engines give the same times, to the picosecond.
// Next     docs/selection.md; model.hpp, network.hpp, noise.hpp for what a question is made of;
//          lab/simulate/events.hpp for an engine in order of time, which knows contention.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "plan/schedule/stages.hpp"
#include "plan/simulate/image.hpp"
#include "plan/simulate/network.hpp"
#include "plan/simulate/noise.hpp"

namespace weft::plan {

/// What is asked, besides the programs.
struct Surroundings {
    MessageModel model;
    std::shared_ptr<const Network> network;  ///< none: the model's latency between all ranks
    Noise noise;
    std::vector<std::pair<Rank, Time>> starts;  ///< ranks that enter late, and when
    bool ends = false;                          ///< Outcome::ends is wanted, of the generic engine
    std::function<void(double)> progress;       ///< called now and then with the part done, 0 to 1
    /// Once something is later, the generic engine stops and says that time.
    Time give_up = std::numeric_limits<Time>::max();

    [[nodiscard]] bool uniform() const { return network == nullptr; }
    [[nodiscard]] Time latency(Rank source, Rank target) const {
        return uniform() ? model.latency : network->latency(source, target);
    }
};

struct Outcome {
    Time makespan = 0;                        ///< the last rank is done
    Time earliest_finish = 0;                 ///< the first rank is done
    std::uint64_t messages = 0;               ///< puts and signals
    std::uint64_t events = 0;                 ///< puts, signals and waits
    std::vector<std::pair<Rank, Time>> ends;  ///< when each rank is done, if that is wanted
};

/// One thing that a rank does, for timelines.
struct Span {
    enum class Kind : std::uint8_t { send, flight, wait, receive, compute, noise };
    Kind kind = Kind::send;
    Rank rank = 0;
    Rank peer = kNoRank;  ///< flight: to whom
    Time begin = 0;
    Time end = 0;
};
using Trace = std::function<void(const Span&)>;

/// Status::argument if the programs deadlock: the text names rank and signal.
[[nodiscard]] base::Result<Outcome> simulate_generic(std::span<const ImagePart> parts,
                                                     const Surroundings& surroundings,
                                                     const Trace& trace = {});
/// A time that the programs do not end before, of which the image holds those of the first ranks
/// only: how far these get by themselves. 0 if that needs the others' order.
[[nodiscard]] Time simulate_first_ranks(const ImagePart& part, const Surroundings& surroundings);
/// Status::unsupported where the stages cannot show the answer: the text says why.
[[nodiscard]] base::Result<Outcome> simulate_structured(const Stages& stages,
                                                        const VectorSize& size,
                                                        const Surroundings& surroundings);
[[nodiscard]] base::Result<Outcome> simulate_folded(const Stages& stages, const VectorSize& size,
                                                    const Surroundings& surroundings);

}  // namespace weft::plan
