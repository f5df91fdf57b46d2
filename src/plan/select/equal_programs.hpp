// SPDX-License-Identifier: BSD-3-Clause
// equal_programs.hpp - detection of ranks whose programs are equal relative to their own rank.
//
// Idea     Two short programs are equal if they differ only in their rank: peers at the same
//          distances, and the same peers on other nodes. An image then needs the pieces of only one
//          of them. Thousands of ranks of a tree have some dozens of different programs.
// Why      Comparing programs takes a fraction of the time of cutting them into pieces, and
//          works for any algorithm. Candidate::same_as even avoids generating the program, where
//          it is known.
// Holds    Programs are compared word by word. The comparison stops if few programs are equal.
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
    /// `node_of`: node of each rank; nullptr if all messages use the same path. Must
    /// outlive this object.
    explicit EqualPrograms(const std::vector<Rank>* node_of) : node_of_(node_of) {}

    /// Adds a rank's program to an image, which must be the same in all calls.
    base::Result<void> add(const Program& program, ImagePart& part);
    /// Returns the lanes and rows that the last add() has added or repeated.
    [[nodiscard]] const ImagePart::Added& added() const { return added_; }

  private:
    static constexpr std::size_t kStepsMax = 32;
    /// Programs compared before the comparison may stop.
    static constexpr std::size_t kTried = 256;

    struct Known {
        std::size_t first = 0;  ///< index of its first word in words_
        std::size_t count = 0;
        ImagePart::Added added;
    };

    base::Result<void> add_as_it_is(const Program& program, ImagePart& part);
    [[nodiscard]] bool compares(const Program& program) const;
    void write(const Program& program);
    [[nodiscard]] std::uint64_t hash() const;

    const std::vector<Rank>* node_of_;
    std::vector<std::uint64_t> words_;   ///< of all known programs
    std::vector<std::uint64_t> sought_;  ///< of the program to add
    std::vector<Known> known_;
    std::unordered_map<std::uint64_t, std::size_t> numbers_;  ///< index into known_, by hash
    ImagePart::Added added_;
    std::size_t tried_ = 0;
};

}  // namespace weft::plan
