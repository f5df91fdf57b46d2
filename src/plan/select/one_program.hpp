// SPDX-License-Identifier: BSD-3-Clause
// one_program.hpp - predictions for algorithms with one program for all ranks, on unequal nodes.
//
// Idea     One program describes all ranks (folding.hpp finds it). Only the set of messages within
//          a node differs from rank to rank, and simulate/uniform.hpp computes it for each.
// Next     predict.cpp.
#pragma once

#include <optional>

#include "plan/select/predict.hpp"

namespace weft::plan {

/// Returns the result of predict(). Returns nothing if ranks have different programs, access memory
/// of local peers in place, or share processors. `give_up`: see Interest::most.
[[nodiscard]] std::optional<Predicted> by_one_program(const Machine& machine, Rank size,
                                                      const Candidate& candidate,
                                                      const VectorSize& vector, Time give_up);

}  // namespace weft::plan
