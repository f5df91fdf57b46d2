// SPDX-License-Identifier: BSD-3-Clause
// simulate.hpp - engines that compute when each rank of a call ends, under a model of messages.
//
// Idea     Programs are static, so without shared links the result is a longest path. An engine may
//          compute ranks in any order in which a reception follows its sends. Engines and inputs:
//           generic     programs of all ranks (as an image), each lane as far as arrivals allow
//           structured  the stages of an algorithm, all ranks of a stage at once
//           folded      the stages, for sets of equal ranks of any size
// Holds    All engines give the same times, to the picosecond.
// Next     docs/selection.md; model.hpp, topology.hpp, noise.hpp for the inputs;
//          events.hpp for the event-driven engine, which models contention.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "plan/schedule/stages.hpp"
#include "tools/simulate/image.hpp"
#include "tools/simulate/noise.hpp"
#include "tools/simulate/topology.hpp"

namespace weft::lab {

/// Inputs of a simulation besides the programs.
struct SimulationInputs {
    MessageModel model;
    std::shared_ptr<const Topology> network;  ///< nullptr: the model's latency between all ranks
    Noise noise;
    std::vector<std::pair<Rank, Time>> starts;  ///< ranks that enter late, and their start times
    bool ends = false;  ///< the generic and the event-driven engine fill Outcome::ends
    /// Called repeatedly with the completed fraction, 0 to 1.
    std::function<void(double)> progress;

    /// Returns true if all pairs of ranks have equal latency.
    [[nodiscard]] bool uniform() const { return network == nullptr; }
    /// Returns true if a waiting receiver is free again as soon as its last message arrives.
    [[nodiscard]] bool takes_no_time_to_receive() const {
        return model.receive == 0 && model.gap == 0;
    }
    /// Returns true if the model has costs that depend on steps. Stages do not contain these.
    [[nodiscard]] bool needs_steps(std::uint64_t buffer_bytes) const {
        return model.copy_byte_fs > 0 || model.unpacks(buffer_bytes) || model.receive_byte_fs > 0 ||
               model.is_cold(buffer_bytes) || model.has_two_way() || model.has_bursts();
    }
    [[nodiscard]] Time latency(Rank source, Rank target) const {
        return uniform() ? model.latency : network->latency(source, target);
    }
};

struct Outcome {
    Time makespan = 0;           ///< end of the last rank
    Time earliest_finish = 0;    ///< end of the first rank
    std::uint64_t messages = 0;  ///< number of puts and signals
    std::uint64_t events = 0;    ///< puts, signals and waits; in simulate_events() queued events
    std::vector<std::pair<Rank, Time>> ends;  ///< end of each rank, if requested
};

/// One activity of a rank, for timelines.
struct Span {
    enum class Kind : std::uint8_t { send, flight, wait, receive, compute, noise };
    Kind kind = Kind::send;
    Rank rank = 0;
    Rank peer = kNoRank;  ///< target of a flight
    Time begin = 0;
    Time end = 0;
};
using Trace = std::function<void(const Span&)>;

/// Runs programs. Returns Status::argument on a deadlock; the text names a rank and its signal.
[[nodiscard]] base::Result<Outcome> simulate_generic(std::span<const ImagePart> parts,
                                                     const SimulationInputs& inputs,
                                                     const Trace& trace = {});
/// Return Status::unsupported if stages do not determine the result; the text has the reason.
[[nodiscard]] base::Result<Outcome> simulate_structured(const Stages& stages,
                                                        const BufferSize& size,
                                                        const SimulationInputs& inputs);
[[nodiscard]] base::Result<Outcome> simulate_folded(const Stages& stages, const BufferSize& size,
                                                    const SimulationInputs& inputs);

}  // namespace weft::lab
