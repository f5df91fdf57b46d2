// SPDX-License-Identifier: BSD-3-Clause
// survives.hpp - runs programs many times on the virtual wire, to confirm that they are valid.
//
// Idea     Programs that the verifier accepts must give right results for every delivery order. So
//          a mutant with the verdict of the original runs many times, with random layouts, profiles
//          and sizes, with several calls at once in few banks, and in place or not.
// Next     mutate.hpp makes mutants; script.hpp runs the calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/schedule/contract.hpp"
#include "plan/schedule/program.hpp"

namespace weft::test {

struct SurvivalOptions {
    std::uint64_t seeds = 1000;  ///< number of runs, each with one seed
    std::uint64_t first_seed = 1;
    std::uint64_t elements = 0;  ///< elements of each buffer; 0: several sizes, from small to bulk
    bool own_nodes = false;      ///< each rank has its own node, and buffers outside its segment
    bool commutes = false;       ///< the programs may combine operands in any order
    std::string* why = nullptr;  ///< receives the first error, if any; nullptr: not needed
};

/// Returns true if every run satisfies the contract, does not hang, and overwrites no slot in use.
/// `programs` is indexed by rank.
[[nodiscard]] bool survives(const std::vector<plan::Program>& programs,
                            const plan::Contract& contract, const SurvivalOptions& options = {});

/// Returns true if ranks copy or reduce in memory of peers, which requires one node for all ranks.
[[nodiscard]] bool need_one_node(const std::vector<plan::Program>& programs);

}  // namespace weft::test
