// SPDX-License-Identifier: BSD-3-Clause
// one_program.hpp - predictions where all ranks do the same, on nodes of different sizes.
//
// Idea     The program of one rank is that of all (folding.hpp finds it); which of its messages
//          stay on a node differs from rank to rank, and simulate/uniform.hpp knows it of all.
// Next     predict.cpp.
#pragma once

#include <optional>

#include "plan/select/predict.hpp"

namespace weft::plan {

/// As predict() says it. None where ranks have programs of their own, use memory of node-mates
/// where it lies, or share processors. give_up: as in Interest.
[[nodiscard]] std::optional<Predicted> by_one_program(const Machine& machine, Rank size,
                                                      const Candidate& candidate,
                                                      const VectorSize& vector, Time give_up);

}  // namespace weft::plan
