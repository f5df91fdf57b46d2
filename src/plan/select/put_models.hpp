// SPDX-License-Identifier: BSD-3-Clause
// put_models.hpp - a machine's costs as models of messages.
//
// Idea     The cost of a put depends on its path, near or far. If ranks share processors, a waiting
//          rank also waits for its turns, and waits and computation are predicted separately.
// Next     prediction.hpp.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/select/machine.hpp"

namespace weft::plan {

/// Paths that a team's puts use.
enum class Paths : std::uint8_t { near, far, both };
[[nodiscard]] Paths paths_of(const Machine& machine);

/// Returns the latency. It includes the turns of a waiting rank if ranks share processors.
[[nodiscard]] Time latency_of(const Machine& machine, const PutCost& cost);

/// Costs of messages between nodes, and the NICs that carry them.
struct FarPuts {
    MessageModel model;
    Card card;
    const std::vector<Rank>* node_of = nullptr;  ///< by rank; must outlive the users
    Rank largest_node = 1;                       ///< number of ranks of the largest node
};

/// Costs of puts on a machine.
struct PutModels {
    MessageModel model;          ///< for ranks of a node, or the only path
    std::optional<FarPuts> far;  ///< set if ranks share nodes, or NICs are modeled
};
/// Returns the costs of a team's puts. `waits` selects the latencies, `computes` the work of the
/// ranks. The machine must outlive the result.
[[nodiscard]] PutModels put_models(const Machine& machine, bool waits, bool computes);

}  // namespace weft::plan
