// SPDX-License-Identifier: BSD-3-Clause
// formulas_by_paper.hpp - entries of formulas.hpp, by paper.
#pragma once

#include <vector>

#include "tools/lab/cost/formulas.hpp"

namespace weft::lab {

void add_rabenseifner(std::vector<Formula>& table);
void add_kolmakov(std::vector<Formula>& table);
void add_hoefler(std::vector<Formula>& table);

/// Return ceil(log2 p) and floor(log2 p) of a whole number.
[[nodiscard]] inline double log2_up(double p) {
    double steps = 0;
    for (double reach = 1; reach < p; reach *= 2) ++steps;
    return steps;
}
[[nodiscard]] inline double log2_down(double p) {
    double steps = 0;
    for (double reach = 2; reach <= p; reach *= 2) ++steps;
    return steps;
}

}  // namespace weft::lab
