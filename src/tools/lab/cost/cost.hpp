// SPDX-License-Identifier: BSD-3-Clause
// cost.hpp - time, energy and descriptor memory of a call, counted from its programs.
//
// Idea     Time comes from the simulator. Energy is a constant for each message and each byte, plus
//          static power times the duration of the call (Hoefler and Moor, section 2). Memory is the
//          size of the descriptors of the rank with the most puts and signals; loop bodies count
//          once.
// Next     formulas.hpp for costs from papers; docs/selection.md.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "plan/select/select.hpp"
#include "tools/lab/cost/parameters.hpp"
#include "tools/simulate/simulate.hpp"

namespace weft::lab {

using plan::BufferSize;
using plan::Program;
using plan::Stages;
using plan::Time;

/// Programs of a call, from any source.
struct Programs {
    Rank size = 1;
    const Stages* stages = nullptr;  ///< nullptr: the algorithm has no form in stages
    std::vector<Rank> node_of = {};  ///< node of each rank; empty: all ranks are on one node
    std::function<base::Result<Program>(Rank)> program_of;
    /// Returns how many successive calls between nodes have put targets at the same time.
    std::function<std::uint32_t()> banks = {};
};

struct Cost {
    Time time = 0;
    std::uint64_t messages = 0;     ///< number of puts and signals of all ranks
    std::uint64_t bytes = 0;        ///< sum of all puts
    std::uint64_t descriptors = 0;  ///< of the rank with the most
    double dynamic_uj = 0;          ///< energy of messages and bytes
    double total_uj = 0;
    std::uint64_t descriptor_bytes = 0;

    [[nodiscard]] double time_us() const { return static_cast<double>(time) * 1e-6; }
    /// Returns energy times delay.
    [[nodiscard]] double edp() const { return total_uj * time_us(); }
};

[[nodiscard]] base::Result<Cost> cost_of(const Programs& programs, const BufferSize& size,
                                         const CostParameters& parameters);

/// Largest team for which sharing of processors is simulated.
inline constexpr Rank kSharingRanksMax = 4096;

/// Simulates a call on a machine by the programs of all ranks.
[[nodiscard]] base::Result<plan::PredictedCost> simulate_call(const Programs& programs,
                                                              const BufferSize& size,
                                                              const plan::Machine& machine);

enum class Objective : std::uint8_t { time, energy, memory, edp };
[[nodiscard]] base::Result<Objective> parse_objective(std::string_view text);
[[nodiscard]] double value_of(const Cost& cost, Objective objective);

/// Returns the indices of the costs that no other cost dominates in time, energy and memory; of
/// equal costs, only the first index.
[[nodiscard]] std::vector<std::size_t> pareto_front(std::span<const Cost> costs);

}  // namespace weft::lab
