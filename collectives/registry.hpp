// SPDX-License-Identifier: BSD-3-Clause
// registry.hpp - list of all collectives and algorithms.
//
// Idea     generate() turns (collective, spec, request) into the program of one rank. contract()
//          gives the requirements on the programs of all ranks. The list is explicit: algorithms do
//          not register themselves.
// Holds    All functions are pure: equal arguments give equal results. Time and memory are
//          proportional to the steps of the rank.
// Next     README.md for how to add an algorithm.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/collective_traits.hpp"
#include "plan/schedule/contract.hpp"

namespace weft::collectives {

/// Returns all algorithms; the algorithms of a collective are consecutive.
[[nodiscard]] std::span<const Algorithm> algorithms();
/// Returns the algorithms of one collective; empty if the name is unknown.
[[nodiscard]] std::span<const Algorithm> algorithms_of(std::string_view collective);

/// Returns the names of the collectives with equal blocks, in the order of kCollectives.
[[nodiscard]] std::span<const std::string_view> collectives();

/// Returns the contract of a collective with equal blocks; nullptr for other names.
[[nodiscard]] const plan::Contract* find_contract(std::string_view collective);
/// Fails if the name is unknown; the message lists all collectives.
[[nodiscard]] base::Result<void> check_collective(std::string_view collective);
/// Returns the contract of a collective that is known to exist.
[[nodiscard]] const plan::Contract& contract(std::string_view collective);

/// Returns true if calls of the collective have a root. The name must be known to exist.
[[nodiscard]] constexpr bool is_rooted(std::string_view collective) {
    return find_collective(collective)->rooted();
}

/// Returns the specs for tests and benches: all plain names, and each parameter with values worth
/// trying. Algorithms with a schedule as a parameter are left out.
[[nodiscard]] std::vector<std::string> specs_to_try(std::string_view collective);

/// Returns the specs that are worth a prediction if the user forces no algorithm: every algorithm
/// by its plain name, unless a parameter has no default, and its own `variants`.
/// Pipelines are listed with one piece, and with numbers of pieces that balance the costs of
/// messages and bytes. Equal arguments give the same list of at most a few dozen entries. Some
/// specs may not support the number of ranks; their generators fail then.
[[nodiscard]] std::vector<AlgorithmSpec> candidate_specs(std::string_view collective,
                                                         CandidateRequest request);

/// Returns true if `segments`, the spec's only parameter, is the default for this request, so that
/// the plain name gives equal programs.
[[nodiscard]] bool repeats_plain_name(const Algorithm& algorithm, const AlgorithmSpec& spec,
                                      GenerateRequest request);

/// Returns the algorithm that a spec names, or a failure that lists the known ones.
[[nodiscard]] base::Result<const Algorithm*> find_algorithm(std::string_view collective,
                                                            const AlgorithmSpec& spec);

/// Fails if the spec has a parameter that the algorithm does not have.
[[nodiscard]] base::Result<void> check_parameters(const Algorithm& algorithm,
                                                  const AlgorithmSpec& spec);

/// Returns the program of rank request.rank.
[[nodiscard]] base::Result<plan::Program> generate(std::string_view collective,
                                                   const AlgorithmSpec& spec,
                                                   GenerateRequest request);

/// Returns the programs of all ranks as one value, or Status::unsupported if the algorithm has
/// no such form.
[[nodiscard]] base::Result<plan::Stages> generate_stages(std::string_view collective,
                                                         const AlgorithmSpec& spec,
                                                         GenerateRequest request);

}  // namespace weft::collectives
