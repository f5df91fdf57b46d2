// SPDX-License-Identifier: BSD-3-Clause
// formulas.hpp - what papers say that algorithms cost, beside what is counted from programs.
//
// Idea     A formula is an entry of a table: a name, where it is from, the numbers it needs with
//          their usual values, and a function to named results. So commands and tests evaluate all
//          in one way.
// Why      Papers' formulas have errors; each entry has the right form, and where the printed one
//          is known to be wrong both, under two names.
// Holds    Times are in the unit of the times that go in; p is the number of ranks. Nothing here is
//          used to simulate or to choose.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace weft::lab {

struct FormulaArgument {
    std::string_view name;
    double usual = 0;
    double least = 0;
    double most = 1e15;
};

using FormulaResults = std::vector<std::pair<std::string_view, double>>;

struct Formula {
    std::string_view name;
    std::string_view what;
    std::string_view source;
    std::vector<FormulaArgument> arguments;
    /// The arguments' values in their order.
    FormulaResults (*evaluate)(std::span<const double> values) = nullptr;
};

[[nodiscard]] std::span<const Formula> formulas();

struct FormulaValue {
    std::string name;
    double value = 0;
};
/// The formula with some arguments set; the others have their usual values.
[[nodiscard]] base::Result<FormulaResults> evaluate_formula(std::string_view name,
                                                            std::span<const FormulaValue> given);

/// The number of messages in a row that makes recursive multiplying fastest, as a real number,
/// where a message costs alpha_p once and alpha_r each and ratio = alpha_p / alpha_r (Ruefenacht et
/// al., equation 5). `scale`: e for the right form, 1 for the printed one, in which a factor got
/// lost; there it is not a number for small ratios.
[[nodiscard]] double messages_optimal(double ratio, double scale);

}  // namespace weft::lab
