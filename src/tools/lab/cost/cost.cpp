// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lab/cost/cost.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "plan/schedule/stage_steps.hpp"
#include "plan/select/put_models.hpp"
#include "plan/select/shared_work.hpp"

namespace weft::lab {

namespace {

/// Counts puts and signals of ranks from their steps (a StepSink).
class CountSink {
  public:
    CountSink(const Stages& stages, const BufferSize& size)
        : partition_(stages.header.partition(size.elements)),
          element_bytes_(size.element_bytes),
          segments_(stages.header.segments) {}

    void begin_rank() { descriptors_ = 0; }
    void end_rank(Cost& cost) const { cost.descriptors = std::max(cost.descriptors, descriptors_); }
    void store_totals(Cost& cost) const {
        cost.messages = messages_;
        cost.bytes = bytes_;
    }

    void payload(const plan::Block& block) {
        payload_bytes_ =
            partition_.size(block.first + block.advance * segment_, block.count) * element_bytes_;
    }
    void put(Rank count, const auto& peer_of, std::uint32_t number, std::uint8_t flags) {
        signal(count, peer_of, number, flags);
        bytes_ += static_cast<std::uint64_t>(count) * payload_bytes_;
    }
    void signal(Rank count, const auto& /*peer_of*/, std::uint32_t, std::uint8_t) {
        messages_ += static_cast<std::uint64_t>(count);
        if (segment_ == 0) descriptors_ += static_cast<std::uint64_t>(count);
    }
    void wait(Rank, const auto& /*peer_of*/, std::uint32_t, std::uint8_t) {}
    void flush() {}
    void operand(const plan::Block& /*block*/) {}
    void slots(const plan::Block& /*block*/, Rank /*count*/) {}
    void combine(const plan::Block& /*target*/) {}
    void copy(const plan::Block& /*target*/, const plan::Block& /*source*/) {}
    void begin_loop() { segment_ = 0; }
    bool next_segment() {
        segment_ = segment_ + 1 < segments_ ? segment_ + 1 : 0;
        return segment_ != 0;
    }

  private:
    plan::Partition partition_;
    std::uint64_t element_bytes_;
    std::uint32_t segments_;
    std::uint32_t segment_ = 0;
    std::uint64_t payload_bytes_ = 0;
    std::uint64_t messages_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t descriptors_ = 0;  ///< number of descriptors of the current rank
};

/// Like the following two functions, leaves energy and descriptor_bytes to cost_of().
base::Result<Cost> count_stages(const Stages& stages, const BufferSize& size,
                                const SimulationInputs& inputs) {
    auto outcome = simulate_folded(stages, size, inputs);
    if (!outcome) outcome = simulate_structured(stages, size, inputs);  // slower, for more stages
    if (!outcome) return outcome.failure();
    Cost cost{.time = outcome->makespan};
    CountSink sink(stages, size);
    plan::StageSteps steps(stages, sink);
    for (Rank rank = 0; rank < stages.size(); ++rank) {
        sink.begin_rank();
        steps.write(rank);
        sink.end_rank(cost);
    }
    sink.store_totals(cost);
    return cost;
}

base::Result<Cost> count_programs(const Programs& programs, const BufferSize& size,
                                  const SimulationInputs& inputs,
                                  const std::optional<plan::FarPuts>& far = {}) {
    Cost cost;
    ImagePart part(inputs.model, size, far);
    for (Rank rank = 0; rank < programs.size; ++rank) {
        const Program program = WEFT_TRY(programs.program_of(rank));
        WEFT_TRY(part.add(program));
        cost.descriptors = std::max<std::uint64_t>(cost.descriptors, program.descriptors());
        plan::ExecutedSteps(program, size).for_each([&](const plan::ExecutedStep& step) {
            if (!step.message) return;
            ++cost.messages;
            cost.bytes += step.bytes;
        });
    }
    cost.time = WEFT_TRY(simulate_generic({&part, 1}, inputs)).makespan;
    return cost;
}

base::Result<Cost> count_call(const Programs& programs, const BufferSize& size,
                              const CostParameters& parameters) {
    SimulationInputs inputs;
    if (parameters.machine) {
        plan::Machine machine = *parameters.machine;
        machine.node_of = programs.node_of;
        const plan::PutModels models = plan::put_models(machine, /*waits=*/true, /*computes=*/true);
        inputs.model = models.model;
        auto cost = count_programs(programs, size, inputs, models.far);
        if (!cost || !machine.oversubscribed()) return cost;
        cost->time = WEFT_TRY(simulate_call(programs, size, machine)).alone;
        return cost;
    }
    inputs.model = message_model(parameters.wire);
    // Stages suffice unless segments overlap or costs depend on steps.
    if (programs.stages != nullptr && !programs.stages->interleaves &&
        !inputs.needs_steps(size.elements * size.element_bytes))
        return count_stages(*programs.stages, size, inputs);
    return count_programs(programs, size, inputs);
}

}  // namespace

base::Result<Cost> cost_of(const Programs& programs, const BufferSize& size,
                           const CostParameters& parameters) {
    auto counted = count_call(programs, size, parameters);
    if (!counted) return counted;
    Cost& cost = *counted;
    const double picojoules = parameters.message_pj * static_cast<double>(cost.messages) +
                              parameters.byte_pj * static_cast<double>(cost.bytes);
    cost.dynamic_uj = picojoules * 1e-6;
    cost.total_uj = cost.dynamic_uj + parameters.static_w * cost.time_us();
    cost.descriptor_bytes = cost.descriptors * parameters.descriptor_bytes;
    return counted;
}

base::Result<plan::PredictedCost> simulate_call(const Programs& programs, const BufferSize& size,
                                                const plan::Machine& machine) {
    const bool oversubscribed = machine.oversubscribed();
    if (oversubscribed && programs.size > kSharingRanksMax)
        return base::fail(Status::unsupported, "{} ranks share processors; expected at most {}",
                          programs.size, kSharingRanksMax);
    // If ranks share processors, one rank computes while another waits. SharedWork combines the
    // simulated times of only waits (for messages and for the processor) and of only computation.
    const plan::PutModels wait_models =
        plan::put_models(machine, /*waits=*/true, /*computes=*/!oversubscribed);
    const plan::PutModels compute_models =
        plan::put_models(machine, /*waits=*/false, /*computes=*/true);
    ImagePart wait_part(wait_models.model, size, wait_models.far);
    ImagePart compute_part(compute_models.model, size, compute_models.far);
    const Program first_program = WEFT_TRY(programs.program_of(0));
    plan::SharedWork work(machine, programs.size, size, first_program, /*whole=*/true);
    for (Rank rank = 0; rank < programs.size; ++rank) {
        const Program program = WEFT_TRY(programs.program_of(rank));
        WEFT_TRY(wait_part.add(program));
        if (oversubscribed || work.is_one_way_pair()) work.add(program, {.rank = rank});
        if (oversubscribed) WEFT_TRY(compute_part.add(program));
    }
    const auto run = [](const ImagePart& part, std::vector<std::pair<Rank, Time>> starts) {
        SimulationInputs inputs{.model = part.model(), .starts = std::move(starts), .ends = true};
        return simulate_generic({&part, 1}, inputs);
    };
    const Outcome first_call = WEFT_TRY(run(wait_part, {}));
    plan::CallTimes times = work.unshared_times(first_call.makespan, first_program);
    if (oversubscribed) {
        const Outcome computed = WEFT_TRY(run(compute_part, {}));
        // Two successive calls: a rank starts the second when its part of the first ends.
        const Outcome second_call = WEFT_TRY(run(wait_part, first_call.ends));
        times = work.times(first_call.makespan, second_call.makespan - first_call.makespan,
                           computed.makespan, programs.banks ? programs.banks() : 0);
    }
    return plan::PredictedCost{times, first_call.messages};
}

base::Result<Objective> parse_objective(std::string_view text) {
    constexpr std::array<std::string_view, 4> kNames = {"time", "energy", "memory", "edp"};
    const auto found = std::ranges::find(kNames, text);
    if (found == kNames.end())
        return base::fail(Status::argument, "'{}': expected time, energy, memory or edp", text);
    return static_cast<Objective>(found - kNames.begin());
}

double value_of(const Cost& cost, Objective objective) {
    switch (objective) {
        case Objective::time:
            return static_cast<double>(cost.time);
        case Objective::energy:
            return cost.total_uj;
        case Objective::memory:
            return static_cast<double>(cost.descriptor_bytes);
        case Objective::edp:
            return cost.edp();
    }
    return 0;
}

std::vector<std::size_t> pareto_front(std::span<const Cost> costs) {
    const auto key = [&](std::size_t i) {
        return std::tuple(costs[i].time, costs[i].total_uj, costs[i].descriptor_bytes);
    };
    std::vector<std::size_t> order(costs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, key);
    // `order` is sorted by time, so only energy and memory are compared.
    std::vector<std::size_t> front;
    for (const std::size_t candidate : order) {
        const Cost& cost = costs[candidate];
        const bool dominated = std::ranges::any_of(front, [&](std::size_t other) {
            return costs[other].total_uj <= cost.total_uj &&
                   costs[other].descriptor_bytes <= cost.descriptor_bytes;
        });
        if (!dominated) front.push_back(candidate);
    }
    return front;
}

}  // namespace weft::lab
