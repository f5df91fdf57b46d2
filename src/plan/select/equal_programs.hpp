// SPDX-License-Identifier: BSD-3-Clause
// equal_programs.hpp - ranks of a team whose programs take the same time to run, by what they say.
//
// Idea     Of two short programs that say the same but for the rank they are said of (peers at the
//          same distances, the same ones of them on other nodes), an image needs the pieces of one.
//          Thousands of ranks of a tree have some dozens of different programs.
// Why      Comparing a program takes a fraction of what cutting it into pieces takes, and asks
//          nothing of its algorithm (Candidate::same_as saves making it, where it is known).
// Holds    Programs are compared word by word. Where few are equal no more are compared.
// Next     predict.cpp.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "plan/schedule/program.hpp"
#include "plan/simulate/image.hpp"

namespace weft::plan {

class EqualPrograms {
  public:
    /// node_of: of each rank; null: all messages go one way. It outlives this.
    explicit EqualPrograms(const std::vector<Rank>* node_of) : node_of_(node_of) {}

    /// Adds a rank's program to an image, which is the same in all calls.
    base::Result<void> add(const Program& program, ImagePart& part);
    /// What that was, or what it repeated.
    [[nodiscard]] const ImagePart::Added& added() const { return added_; }

  private:
    static constexpr std::size_t kStepsMax = 32;
    static constexpr std::size_t kTried = 256;  ///< programs, before it shows what is gained

    struct Known {
        std::size_t first = 0;  ///< of its words
        std::size_t count = 0;
        ImagePart::Added added;
    };

    base::Result<void> add_as_it_is(const Program& program, ImagePart& part);
    [[nodiscard]] bool compares(const Program& program) const;
    void write(const Program& program);
    [[nodiscard]] std::uint64_t hash() const;

    const std::vector<Rank>* node_of_;
    std::vector<std::uint64_t> words_;   ///< of all that are known
    std::vector<std::uint64_t> sought_;  ///< of the one that is sought
    std::vector<Known> known_;
    std::unordered_map<std::uint64_t, std::size_t> numbers_;  ///< of the known ones, by hash
    ImagePart::Added added_;
    std::size_t tried_ = 0;
};

}  // namespace weft::plan
