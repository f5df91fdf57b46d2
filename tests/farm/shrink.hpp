// SPDX-License-Identifier: BSD-3-Clause
// shrink.hpp - a short program that still fails, made from a long one.
//
// Idea     Acts are left out as long as the rest still fails: halves first, then quarters, at last
//          single acts (delta debugging, Zeller and Hildebrandt 2002). What is left out moves all
//          random choices after it, so a part is tried under several schedules before it is taken
//          for right.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/farm/run.hpp"

namespace weft::farm {

struct Failing {
    std::vector<std::size_t> part;
    std::uint64_t schedule = 0;
    std::string wrong;
};

[[nodiscard]] Failing shrink(const Scenario& scenario, Failing failing);

}  // namespace weft::farm
