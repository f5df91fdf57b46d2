// SPDX-License-Identifier: BSD-3-Clause
#include "plan/cost/cost.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>

namespace weft::plan {

namespace {

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
    for (Rank rank = 0; rank < programs.size; ++rank) {
        const auto program = programs.program_of(rank);
        if (!program) return program.failure();
        cost.descriptors = std::max<std::uint64_t>(cost.descriptors, program->descriptors());
        for_each_message(*program, size, [&](Rank, std::uint64_t bytes) {
            ++cost.messages;
            cost.bytes += bytes;
        });
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
