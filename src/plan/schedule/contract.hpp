// SPDX-License-Identifier: BSD-3-Clause
// contract.hpp - what a set of programs has to achieve, as data.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plan/schedule/program.hpp"

namespace weft::plan {

/// One unit of a rank's output: the reduction, over ranks first_rank..last_rank, of their input unit
/// `source_unit`, each exactly once. first_rank == last_rank: a copy from that rank.
struct Expectation {
    std::uint32_t unit = 0;
    Rank first_rank = 0;
    Rank last_rank = 0;
    std::uint32_t source_unit = 0;
};

/// Units of the output without an expectation may end with anything.
struct Contract {
    std::string collective;
    bool must_synchronize = false;  ///< completion anywhere must imply entry everywhere
    /// The expectations on one rank; reads the header of its program only.
    std::function<std::vector<Expectation>(const Program&)> expected;
};

}  // namespace weft::plan
