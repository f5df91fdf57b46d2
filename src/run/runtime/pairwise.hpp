// SPDX-License-Identifier: BSD-3-Clause
// pairwise.hpp - binds calls whose counts only the two ends of each message know.
//
// Next     collectives/v_collective.hpp for their programs; plan.hpp for all other calls.
#pragma once

#include "run/bind/bind.hpp"
#include "run/runtime/plan.hpp"

namespace weft::run {

[[nodiscard]] base::Result<BoundProgram> bind_pairwise(const PlanContext& context, const Call& call,
                                                       const ChosenAlgorithm& algorithm,
                                                       BindOptions options);

}  // namespace weft::run
