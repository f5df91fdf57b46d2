// SPDX-License-Identifier: BSD-3-Clause
// put_models.hpp - a machine's costs as engines take them.
//
// Idea     A put costs by its way, near or far. Where ranks share processors, a rank that waits
//          also waits for its turns, and waits and computation are predicted apart.
// Next     predict.cpp.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/select/machine.hpp"
#include "plan/simulate/image.hpp"

namespace weft::plan {

/// Which ways a team's puts go.
enum class Ways : std::uint8_t { near, far, both };
[[nodiscard]] Ways ways_of(const Machine& machine);

/// With the turns of a rank that waits, where ranks share processors.
[[nodiscard]] Time latency_of(const Machine& machine, const PutCost& cost);

/// What a put costs, with some of it left out.
[[nodiscard]] MessageModel model_of(const Machine& machine, const PutCost& cost, bool waits,
                                    bool computes);

/// The same for a team all of whose puts go that way.
[[nodiscard]] MessageModel only_model(const Machine& machine, bool far, bool waits, bool computes);

/// What puts cost on a machine, as images and engines take it.
struct PutModels {
    MessageModel model;          ///< between ranks of a node, or the only way there is
    std::optional<FarPuts> far;  ///< where ranks share nodes, or cards count
};
/// Only what waits cost, only what ranks compute, or both. The machine outlives the answer.
[[nodiscard]] PutModels put_models(const Machine& machine, bool waits, bool computes);

}  // namespace weft::plan
