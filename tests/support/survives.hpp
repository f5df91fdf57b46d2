// SPDX-License-Identifier: BSD-3-Clause
// survives.hpp - runs a set of programs many times on the virtual wire: the last word on a verdict.
//
// Idea     What the verifier calls valid must give right results however the network delivers. So a
//          mutant that changed no verdict and no fact is run again and again, over layouts,
//          profiles and sizes, several calls on end in few banks, with separate input and output
//          and the same.
// Next     mutate.hpp makes mutants; script.hpp runs the calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/schedule/contract.hpp"
#include "plan/schedule/program.hpp"

namespace weft::test {

struct SurvivalOptions {
    std::uint64_t seeds = 1000;
    std::uint64_t first_seed = 1;
    std::uint64_t elements = 0;  ///< of each vector; 0: a few, from small to bulk
    bool apart = false;          ///< each rank on a node of its own, vectors not in its segment
    bool commutes = false;       ///< the programs may combine in any order
    std::string* why = nullptr;  ///< what went wrong first, if anything
};

/// Whether every execution gives what the contract says, without a hang and without overwriting a
/// slot that is in use. `programs` by rank.
[[nodiscard]] bool survives(const std::vector<plan::Program>& programs,
                            const plan::Contract& contract, const SurvivalOptions& options = {});

}  // namespace weft::test
