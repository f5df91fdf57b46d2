// SPDX-License-Identifier: BSD-3-Clause
// folding.hpp - as few ranks as stand for all of a team.
//
// Idea     In many algorithms every rank does the same at the same distances, or every node does:
//          the programs of one rank, or of the ranks of one node, then show what all do. Whether
//          that is so is found by comparing a few ranks' programs. Where a flag is named by a
//          rank, its number is first made the distance from the rank that awaits it.
// Holds    A few compared ranks are no proof: what is made of the answer is a prediction.
// Next     simulate/image.hpp, Fold, for what such an image means; predict.cpp.
#pragma once

#include <optional>
#include <vector>

#include "plan/select/predict.hpp"

namespace weft::plan {

/// Ranks whose programs show what a team does.
struct Shown {
    std::vector<Program> programs;  ///< none: each is used once, and made then
    Rank ranks = 0;  ///< they do what their programs say, or all what the only one says
    Rank team = 0;   ///< and stand for so many

    [[nodiscard]] bool folded() const { return ranks < team; }
    [[nodiscard]] const Program& program_of(Rank rank) const {
        return programs.size() == 1 ? programs.front() : programs[static_cast<std::size_t>(rank)];
    }
};

/// `period`: the ranks of a node, if all nodes have equally many, in order; 1 if all ranks may
/// do the same; 0 if neither. used_once: programs of a team that is shown whole are not kept.
[[nodiscard]] base::Result<Shown> show_team(const Candidate& candidate, Rank size, Rank period,
                                            const VectorSize& vector, bool used_once);

/// The program that all ranks of a team on any nodes seem to have, at the same distances, if they
/// do; by some ranks of several nodes.
[[nodiscard]] std::optional<Program> common_program(const Candidate& candidate, Rank size,
                                                    const std::vector<Rank>& node_of,
                                                    const VectorSize& vector);
/// The ranks of a node, if all nodes have equally many, in order; else 0.
[[nodiscard]] Rank period_of(const std::vector<Rank>& node_of);

/// Whether a few ranks seem to stand for all, by one rank of four nodes; not of long programs, of
/// which even few take time.
[[nodiscard]] bool seems_to_fold(const Candidate& candidate, Rank size, Rank period,
                                 const VectorSize& vector);

}  // namespace weft::plan
