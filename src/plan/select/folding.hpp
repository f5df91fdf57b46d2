// SPDX-License-Identifier: BSD-3-Clause
// folding.hpp - the smallest set of ranks that represents a whole team.
//
// Idea     In many algorithms every rank, or every node, does the same at the same distances. Then
//          the programs of one rank, or of the ranks of one node, represent all. A comparison of a
//          few ranks' programs detects this. Where the number of a flag is a rank, it is first
//          replaced by the distance from the rank that owns the flag.
// Holds    A few compared ranks are no proof, so results are predictions.
// Next     simulate/image.hpp, Fold, for the meaning of such an image; predict.cpp.
#pragma once

#include <optional>
#include <vector>

#include "plan/select/predict.hpp"

namespace weft::plan {

/// Ranks whose programs represent a team.
struct Shown {
    std::vector<Program> programs;  ///< empty: the caller generates each program on use
    Rank ranks = 0;  ///< the ranks represented one by one; a single program is that of all of them
    Rank team = 0;   ///< ranks of the whole team

    [[nodiscard]] bool folded() const { return ranks < team; }
    [[nodiscard]] const Program& program_of(Rank rank) const {
        return programs.size() == 1 ? programs.front() : programs[static_cast<std::size_t>(rank)];
    }
};

/// Returns the ranks that represent the team. `period`: the ranks of a node if all nodes have
/// equally many consecutive ranks; 1 if all ranks may do equal work; 0 otherwise. `used_once`:
/// programs of a team that does not fold are not stored.
[[nodiscard]] base::Result<Shown> show_team(const Candidate& candidate, Rank size, Rank period,
                                            const VectorSize& vector, bool used_once);

/// Returns the program that all ranks of a team seem to share at the same distances, on any nodes.
/// Compares some ranks of several nodes only.
[[nodiscard]] std::optional<Program> common_program(const Candidate& candidate, Rank size,
                                                    const std::vector<Rank>& node_of,
                                                    const VectorSize& vector);
/// Returns the ranks of a node if all nodes have equally many consecutive ranks, else 0.
[[nodiscard]] Rank period_of(const std::vector<Rank>& node_of);

/// Returns true if a few ranks seem to represent all, by a comparison of one rank on each of four
/// nodes. Returns false for long programs, which take time to generate.
[[nodiscard]] bool seems_to_fold(const Candidate& candidate, Rank size, Rank period,
                                 const VectorSize& vector);

}  // namespace weft::plan
