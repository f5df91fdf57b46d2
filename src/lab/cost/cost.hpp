// SPDX-License-Identifier: BSD-3-Clause
// cost.hpp - what a call costs in time, energy and descriptor memory, counted from its programs.
//
// Idea     Time comes from the simulator. Energy is e for each message and E for each byte, and the
//          static power for as long as the call takes (Hoefler and Moor, section 2). Memory is what
//          the rank with most puts and signals needs for their descriptors, loop bodies counted
//          once.
// Next     formulas.hpp for what papers say instead; docs/selection.md.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "lab/cost/parameters.hpp"
#include "plan/select/predict.hpp"
#include "plan/simulate/simulate.hpp"

namespace weft::lab {

using plan::Program;
using plan::Stages;
using plan::Time;
using plan::VectorSize;

/// The programs of a call, however they come.
struct Programs {
    Rank size = 1;
    const Stages* stages = nullptr;  ///< if the algorithm has that form
    std::vector<Rank> node_of =
        {};  ///< by rank; empty: all on one node. For machines with two ways
    std::function<base::Result<Program>(Rank)> program_of;
    /// Calls that have put targets at a time; for calls between nodes that follow each other.
    std::function<std::uint32_t()> banks = {};
};

struct Cost {
    Time time = 0;
    std::uint64_t messages = 0;     ///< puts and signals, all ranks
    std::uint64_t bytes = 0;        ///< of all puts
    std::uint64_t descriptors = 0;  ///< of the rank with most
    double dynamic_uj = 0;
    double total_uj = 0;
    std::uint64_t descriptor_bytes = 0;

    [[nodiscard]] double time_us() const { return static_cast<double>(time) * 1e-6; }
    /// Energy times delay.
    [[nodiscard]] double edp() const { return total_uj * time_us(); }
};

[[nodiscard]] base::Result<Cost> cost_of(const Programs& programs, const VectorSize& size,
                                         const CostParameters& parameters);

/// What a call takes on a machine whose ranks share processors, by the programs of all of them.
[[nodiscard]] base::Result<plan::Predicted> shared_time(const Programs& programs,
                                                        const VectorSize& size,
                                                        const plan::Machine& machine);

enum class Objective : std::uint8_t { time, energy, memory, edp };
[[nodiscard]] base::Result<Objective> parse_objective(std::string_view text);
[[nodiscard]] double value_of(const Cost& cost, Objective objective);

/// Neither is better in all of time, energy and memory: those costs that no other one dominates, by
/// index. Of equal ones the first.
[[nodiscard]] std::vector<std::size_t> pareto_front(std::span<const Cost> costs);

}  // namespace weft::lab
