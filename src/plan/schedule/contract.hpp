// SPDX-License-Identifier: BSD-3-Clause
// contract.hpp - what a set of programs has to achieve, as data.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plan/schedule/program.hpp"

namespace weft::plan {

/// One unit of a rank's output: the reduction, over ranks first_rank..last_rank, of their input
/// unit `source_unit`, each exactly once. first_rank == last_rank: a copy from that rank.
struct Expectation {
    std::uint32_t unit = 0;
    Rank first_rank = 0;
    Rank last_rank = 0;
    std::uint32_t source_unit = 0;
};

/// Units first .. first + count - 1 of a vector.
struct UnitRange {
    std::uint32_t first = 0;
    std::uint32_t count = 0;

    [[nodiscard]] bool holds(std::uint32_t unit) const {
        return unit >= first && unit - first < count;
    }
};

/// Units of the output without an expectation may end with anything.
struct Contract {
    std::string collective;
    /// The vector has one block for each rank: `elements` of a call count those of a block.
    bool block_per_rank = false;
    /// The part of the vector that a rank has as its input (output); none given: all of it.
    /// Programs neither read nor write anything else. Both may be the same memory where both are.
    std::function<UnitRange(const Program&)> input;
    std::function<UnitRange(const Program&)> output;
    bool must_synchronize = false;  ///< completion anywhere must imply entry everywhere
    /// The expectations on one rank; reads the header of its program only.
    std::function<std::vector<Expectation>(const Program&)> expected;

    /// Elements of the vector in a call of so many ranks with so many elements.
    [[nodiscard]] std::uint64_t vector_elements(Rank ranks, std::uint64_t elements) const {
        return block_per_rank ? elements * static_cast<std::uint64_t>(ranks) : elements;
    }
    [[nodiscard]] UnitRange input_of(const Program& program) const {
        return input ? input(program) : UnitRange{0, program.units};
    }
    [[nodiscard]] UnitRange output_of(const Program& program) const {
        return output ? output(program) : UnitRange{0, program.units};
    }
};

}  // namespace weft::plan
