// SPDX-License-Identifier: BSD-3-Clause
// registry.hpp - every collective and algorithm there is, in one visible list.
//
// Idea     generate() turns (collective, spec, request) into the program of one rank; contract()
//          says what the programs of all ranks must achieve. Nothing registers itself.
// Holds    Pure: the same arguments give the same program. Time and memory follow the rank's own
//          steps.
// Next     algorithm.hpp for requests; README.md for how to add an algorithm.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/collective_traits.hpp"
#include "plan/schedule/contract.hpp"

namespace weft::collectives {

/// All algorithms, those of one collective next to each other.
[[nodiscard]] std::span<const Algorithm> algorithms();
/// Those of one collective; none of an unknown one.
[[nodiscard]] std::span<const Algorithm> algorithms_of(std::string_view collective);

/// The names of the collectives with equal blocks, in the order of their table.
[[nodiscard]] std::span<const std::string_view> collectives();

/// What the named collective must achieve; nullptr for an unknown name.
[[nodiscard]] const plan::Contract* find_contract(std::string_view collective);
/// Whether there is a collective of that name; a failure lists them all.
[[nodiscard]] base::Result<void> check_collective(std::string_view collective);
/// As find_contract(), for a name that is known to exist.
[[nodiscard]] const plan::Contract& contract(std::string_view collective);

/// Whether calls of a collective that is known to exist have a root.
[[nodiscard]] constexpr bool is_rooted(std::string_view collective) {
    return find_collective(collective)->rooted();
}

/// The collective's algorithms by name, and with each of their parameters set to values worth
/// trying: what tests and benches run. Without those of the notation, which are named by their
/// schedules.
[[nodiscard]] std::vector<std::string> specs_to_try(std::string_view collective);

/// The entry that a spec names. A failure says which algorithms there are.
[[nodiscard]] base::Result<const Algorithm*> find_algorithm(std::string_view collective,
                                                            const AlgorithmSpec& spec);

/// Whether the algorithm has all the parameters that the spec gives it.
[[nodiscard]] base::Result<void> check_parameters(const Algorithm& algorithm,
                                                  const AlgorithmSpec& spec);

/// The program of rank request.rank.
[[nodiscard]] base::Result<plan::Program> generate(std::string_view collective,
                                                   const AlgorithmSpec& spec,
                                                   const GenerateRequest& request);

/// The programs of all ranks as one value; Status::unsupported if the algorithm has no such form.
[[nodiscard]] base::Result<plan::Stages> generate_stages(std::string_view collective,
                                                         const AlgorithmSpec& spec,
                                                         const GenerateRequest& request);

}  // namespace weft::collectives
