// SPDX-License-Identifier: BSD-3-Clause
// contract.hpp - required results of a collective's programs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plan/schedule/program.hpp"

namespace weft::plan {

/// Required contents of one output unit: the reduction of input unit `source_unit` of each of the
/// ranks first_rank .. last_rank, exactly once. If both ranks are equal: a copy of the input unit.
struct Expectation {
    std::uint32_t unit = 0;
    Rank first_rank = 0;
    Rank last_rank = 0;
    std::uint32_t source_unit = 0;
};

struct UnitRange {
    std::uint32_t first = 0;
    std::uint32_t count = 0;

    [[nodiscard]] bool holds(std::uint32_t unit) const {
        return unit >= first && unit - first < count;
    }
};

/// Required result of a collective. Output units without an expectation may have any contents.
struct Contract {
    std::string collective;
    /// The buffer has one block for each rank; the element count of a call is the size of a block.
    bool block_per_rank = false;
    /// Each returns the units of the buffer that are a rank's input or output; nullptr: all units.
    /// Programs access only these units. In a call in place, units in both ranges share memory.
    std::function<UnitRange(const Program&)> input;
    std::function<UnitRange(const Program&)> output;
    bool must_synchronize = false;  ///< a rank may complete only after all ranks have entered
    /// Returns the expectations of one rank. Reads only the header of the rank's program.
    std::function<std::vector<Expectation>(const Program&)> expected;

    /// Returns the number of elements of the whole buffer. `elements`: element count of the call.
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
