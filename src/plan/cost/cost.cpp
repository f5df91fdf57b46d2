// SPDX-License-Identifier: BSD-3-Clause
#include "plan/cost/cost.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>

#include "plan/schedule/canonical.hpp"

namespace weft::plan {

namespace {

/// Counts what the programs of all ranks put.
class Tally {
  public:
    Tally(const VectorSize& size, Cost& cost) : size_(size), cost_(cost) {}

    void add(const Program& program) {
        const Partition partition = program.partition(size_.elements);
        cost_.messages += raises_of(program);
        cost_.descriptors = std::max<std::uint64_t>(cost_.descriptors, program.descriptors());
        for (const Lane& lane : program.lanes) {
            std::uint32_t body_end = 0;
            for (std::uint32_t i = lane.first; i < lane.first + lane.count; ++i) {
                const Step& step = program.steps[i];
                if (step.kind == StepKind::loop) body_end = i + 1 + step.signal;
                if (step.kind != StepKind::put && step.kind != StepKind::publish) continue;
                const std::uint32_t times = i < body_end ? program.segments : 1;
                for (std::uint32_t segment = 0; segment < times; ++segment)
                    for (const Block& block : blocks_of(program, step.source))
                        cost_.bytes += elements(partition, block, segment) * size_.element_bytes;
            }
        }
    }

  private:
    static std::uint64_t elements(const Partition& partition, const Block& block,
                                  std::uint32_t segment) {
        const std::uint32_t first = block.first + block.advance * segment;
        if (block.stride == 1) return partition.size(first, block.count);
        std::uint64_t sum = 0;
        for (std::uint32_t i = 0; i < block.count; ++i)
            sum += partition.size(first + i * block.stride);
        return sum;
    }

    const VectorSize& size_;
    Cost& cost_;
};

base::Result<Outcome> time_of(const Programs& programs, const VectorSize& size,
                              const Surroundings& around) {
    if (programs.stages != nullptr) {
        auto folded = simulate_folded(*programs.stages, size, around);
        if (folded) return folded;
        return simulate_structured(*programs.stages, size, around);
    }
    ImagePart part(around.model, size);
    for (Rank rank = 0; rank < programs.size; ++rank) {
        const auto program = programs.program_of(rank);
        if (!program) return program.failure();
        if (auto added = part.add(*program); !added) return added.failure();
    }
    return simulate_generic({&part, 1}, around);
}

}  // namespace

base::Result<Cost> cost_of(const Programs& programs, const VectorSize& size,
                           const CostParameters& parameters) {
    Surroundings around;
    around.model = MessageModel(parameters.wire);
    around.network = Network(parameters.wire.latency);
    const auto outcome = time_of(programs, size, around);
    if (!outcome) return outcome.failure();
    Cost cost{.time = outcome->makespan};
    Tally tally(size, cost);
    for (Rank rank = 0; rank < programs.size; ++rank) {
        const auto program = programs.program_of(rank);
        if (!program) return program.failure();
        tally.add(*program);
    }
    const double picojoules = parameters.message_pj * static_cast<double>(cost.messages) +
                              parameters.byte_pj * static_cast<double>(cost.bytes);
    cost.dynamic_uj = picojoules * 1e-6;
    cost.total_uj = cost.dynamic_uj + parameters.static_w * cost.time_us();
    cost.descriptor_bytes = cost.descriptors * parameters.descriptor_bytes;
    return cost;
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
    // In the order of time only energy and memory are left to compare.
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

}  // namespace weft::plan
