// SPDX-License-Identifier: BSD-3-Clause
// formulas.hpp - costs of algorithms according to papers.
//
// Idea     A formula is an entry of a table: a name, its source, its arguments with usual
//          values, and a function that returns named results. Commands and tests evaluate all
//          formulas by evaluate_formula().
// Why      Formulas in papers have errors. Each entry has the correct form; if the printed form is
//          known to be wrong, it is a second entry.
// Holds    Results have the time unit of the arguments; p is the number of ranks. Simulation and
//          selection do not use formulas.
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
    double usual = 0;    ///< value if the caller passes none
    double least = 0;    ///< smallest permitted value
    double most = 1e15;  ///< largest permitted value
};

using FormulaResults = std::vector<std::pair<std::string_view, double>>;

struct Formula {
    std::string_view name;
    std::string_view what;    ///< description
    std::string_view source;  ///< paper and section
    std::span<const FormulaArgument> arguments;
    /// values: one for each of `arguments`, in this order.
    FormulaResults (*evaluate)(std::span<const double> values) = nullptr;
};

[[nodiscard]] std::span<const Formula> formulas();

struct FormulaValue {
    std::string name;
    double value = 0;
};
/// Evaluates a formula with the given arguments; other arguments have their usual values.
[[nodiscard]] base::Result<FormulaResults> evaluate_formula(std::string_view name,
                                                            std::span<const FormulaValue> given);

/// Returns the number of successive messages that makes recursive multiplying fastest, as a real
/// number. n successive messages cost alpha_p + n alpha_r; ratio = alpha_p / alpha_r (Ruefenacht et
/// al., equation 5). scale: e for the correct form; 1 for the printed form, which lacks a factor
/// and is NaN for small ratios.
[[nodiscard]] double messages_optimal(double ratio, double scale);

}  // namespace weft::lab
