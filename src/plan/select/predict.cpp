// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/predict.hpp"

#include <algorithm>
#include <array>
#include <variant>
#include <vector>

#include "plan/simulate/simulate.hpp"

namespace weft::plan {

namespace {

__extension__ using Wide = __int128;

/// What all ranks compute together.
struct Work {
    std::uint64_t messages = 0;
    std::uint64_t far_messages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t far_bytes = 0;
    Time combining = 0;  ///< and copying in place
};

class Prediction {
  public:
    Prediction(const Machine& machine, Rank size, const Candidate& candidate,
               const VectorSize& vector)
        : machine_(machine), size_(size), candidate_(candidate), vector_(vector) {
        const auto& nodes = machine.node_of;
        const bool one = std::ranges::all_of(nodes, [&](Rank n) { return n == nodes.front(); });
        apart_ = !one;
        auto sorted = nodes;
        std::ranges::sort(sorted);
        mixed_ = apart_ && std::ranges::adjacent_find(sorted) != sorted.end();
        if (mixed_ && size > kPredictedMixedRanks) mixed_ = false;  // all are taken to be far
    }

    [[nodiscard]] base::Result<Predicted> run() const {
        if (!mixed_) {
            const auto stages = candidate_.stages(size_);
            if (stages) return of_stages(*stages);
            if (stages.failure().status != Status::unsupported) return stages.failure();
        }
        if (mixed_ || size_ <= kPredictedRanks) return of_programs(size_);
        return continued();
    }

  private:
    [[nodiscard]] const PutCost& put() const { return apart_ ? machine_.far : machine_.near; }

    /// What a put costs, with some of it left out.
    [[nodiscard]] MessageModel model(const PutCost& cost, bool waits, bool computes) const {
        MessageModel model;
        if (waits) model.latency = latency(cost);
        if (!computes) return model;
        model.busy_base = cost.issue;
        model.byte_fs = cost.byte_fs;
        model.receive = cost.receive;
        model.reduce = machine_.reduce;
        model.reduce_byte_fs = machine_.reduce_byte_fs;
        model.mapped = machine_.mapped;
        model.mapped_byte_fs = machine_.mapped_byte_fs;
        return model;
    }

    [[nodiscard]] Time latency(const PutCost& cost) const {
        if (!machine_.crowded()) return cost.latency;
        return cost.latency + cost.turn * machine_.host_ranks / machine_.host_processors;
    }

    [[nodiscard]] Time shared_out(const Work& work, Rank size) const {
        const PutCost& near = machine_.near;
        const PutCost& far = apart_ ? machine_.far : near;
        const std::uint64_t near_messages = work.messages - work.far_messages;
        const std::uint64_t near_bytes = work.bytes - work.far_bytes;
        const Wide sum =
            Wide{near_messages} * (near.issue + near.receive) +
            Wide{work.far_messages} * (far.issue + far.receive) +
            (Wide{near_bytes} * near.byte_fs + Wide{work.far_bytes} * far.byte_fs) / 1000 +
            work.combining;
        return static_cast<Time>(sum * machine_.host_ranks / machine_.host_processors / size);
    }

    /// `makespan(waits, computes)` of the simulator, put together.
    template <class Makespan>
    [[nodiscard]] base::Result<Predicted> combined(Makespan makespan, const Work& work,
                                                   Rank size) const {
        const bool crowded = machine_.crowded();
        const base::Result<Time> first = makespan(true, !crowded);
        if (!first) return first.failure();
        if (!crowded) return Predicted{*first, work.messages};
        const base::Result<Time> computing = makespan(false, true);
        if (!computing) return computing.failure();
        return Predicted{*first + std::max(*computing, shared_out(work, size)), work.messages};
    }

    [[nodiscard]] base::Result<Predicted> of_stages(const Stages& stages) const {
        const auto makespan = [&](bool waits, bool computes) -> base::Result<Time> {
            Surroundings around;
            around.model = model(put(), waits, computes);
            auto outcome = simulate_folded(stages, vector_, around);
            if (!outcome) outcome = simulate_structured(stages, vector_, around);
            if (!outcome) return outcome.failure();
            return outcome->makespan;
        };
        return combined(makespan, work_of(stages), size_);
    }

    [[nodiscard]] Work work_of(const Stages& stages) const {
        Work work;
        const std::uint64_t bytes =
            stages.carries ? vector_.elements * vector_.element_bytes : std::uint64_t{0};
        const Time combine = model(put(), false, true).combine(bytes, 2);
        for (const Stage& stage : stages.stages) {
            const std::uint64_t messages = raises_of(stages, stage);
            work.messages += messages;
            const auto* exchange = std::get_if<ExchangeStage>(&stage);
            if (exchange != nullptr && exchange->keeps_own && stages.carries)
                work.combining +=
                    static_cast<Time>(messages - replaced(stages, *exchange)) * combine;
        }
        work.bytes = work.messages * bytes;
        if (apart_) work.far_messages = work.messages, work.far_bytes = work.bytes;
        return work;
    }

    /// Remainders that receive begin with the first message; nothing of theirs is combined with it.
    static std::uint64_t replaced(const Stages& stages, const ExchangeStage& exchange) {
        if (!exchange.remainders_receive) return 0;
        return static_cast<std::uint64_t>(stages.remainders_of(exchange).count);
    }

    /// By the programs of all ranks of a team of that size.
    [[nodiscard]] base::Result<Predicted> of_programs(Rank size) const {
        // Vectors of blocks for each rank are shorter in a smaller team.
        const VectorSize vector{candidate_.elements ? candidate_.elements(size) : vector_.elements,
                                vector_.element_bytes};
        std::vector<Program> programs;
        programs.reserve(static_cast<std::size_t>(size));
        for (Rank rank = 0; rank < size; ++rank) {
            auto program = candidate_.program(size, rank);
            if (!program) return program.failure();
            programs.push_back(*std::move(program));
        }
        Work work;
        for (const Program& program : programs) add_work(program, vector, work);
        const bool in_place = std::ranges::any_of(programs, [](const Program& program) {
            return std::ranges::find(program.steps, StepKind::expose, &Step::kind) !=
                   program.steps.end();
        });
        const auto makespan = [&](bool waits, bool computes) -> base::Result<Time> {
            Surroundings around;
            around.model = model(mixed_ ? machine_.near : put(), waits, computes);
            std::optional<FarPuts> far;
            if (mixed_) {
                // The receiver's part is charged to the sender: only there near and far are
                // distinguished.
                MessageModel over = model(machine_.far, waits, computes);
                around.network = std::make_shared<NodeNetwork>(machine_.node_of,
                                                               around.model.latency, over.latency);
                if (computes) over.busy_base += machine_.far.receive - machine_.near.receive;
                far = FarPuts{over, &machine_.node_of};
            }
            ImagePart part(around.model, vector, far);
            for (const Program& program : programs)
                if (auto added = part.add(program); !added) return added.failure();
            const auto outcome = simulate_generic({&part, 1}, around);
            if (!outcome) return outcome.failure();
            return outcome->makespan;
        };
        auto predicted = combined(makespan, work, size);
        if (predicted) predicted->in_place = in_place;
        return predicted;
    }

    void add_work(const Program& program, const VectorSize& vector, Work& work) const {
        const MessageModel costs = model(put(), false, true);
        for_each_message(program, vector, [&](Rank peer, std::uint64_t bytes) {
            const bool far = apart_ && (!mixed_ || machine_.node_of[at(peer)] !=
                                                       machine_.node_of[at(program.rank)]);
            ++work.messages;
            work.bytes += bytes;
            work.far_messages += far ? 1 : 0;
            work.far_bytes += far ? bytes : 0;
        });
        for_each_reduction(program, vector, [&](std::uint64_t bytes, std::uint32_t operands) {
            work.combining += costs.combine(bytes, operands);
        });
        for_each_mapped(program, vector,
                        [&](std::uint64_t bytes) { work.combining += costs.touch(bytes); });
    }
    static std::size_t at(Rank rank) { return static_cast<std::size_t>(rank); }

    /// The growth from a quarter to a half and to all of the largest size that is looked at says
    /// how the time grows with each doubling; it goes on like that.
    [[nodiscard]] base::Result<Predicted> continued() const {
        std::array<Time, 3> times{};
        std::uint64_t messages = 0;
        bool in_place = false;
        for (std::size_t i = 0; i < times.size(); ++i) {
            const auto predicted = of_programs(kPredictedRanks >> (2 - i));
            if (!predicted) return predicted;
            times[i] = predicted->time;
            messages = predicted->messages;
            in_place = predicted->in_place;
        }
        const Time before = std::max<Time>(1, times[1] - times[0]);
        const Time last = std::max<Time>(1, times[2] - times[1]);
        Time time = times[2];
        Wide step = last;
        for (std::int64_t held = kPredictedRanks; held < size_; held *= 2) {
            step = std::min<Wide>(step * last / before, Wide{1} << 61);
            const Wide part = step * std::min<std::int64_t>(held, size_ - held) / held;
            time = static_cast<Time>(std::min<Wide>(time + part, Wide{1} << 62));
        }
        return Predicted{time, messages, in_place};
    }

    const Machine& machine_;
    Rank size_;
    const Candidate& candidate_;
    const VectorSize& vector_;
    bool apart_ = false;  ///< there are several nodes,
    bool mixed_ = false;  ///< and some rank shares its own
};

}  // namespace

base::Result<Predicted> predict(const Machine& machine, Rank size, const Candidate& candidate,
                                const VectorSize& vector) {
    return Prediction(machine, size, candidate, vector).run();
}

}  // namespace weft::plan
