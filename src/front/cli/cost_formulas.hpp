// SPDX-License-Identifier: BSD-3-Clause
// cost_formulas.hpp - what papers say that an algorithm costs, in the figures of `weft cost`.
//
// Next     lab/cost/formulas.hpp for the formulas as such, with a paper's own letters.
#pragma once

#include <optional>

#include "front/cli/program_options.hpp"
#include "lab/cost/cost.hpp"

namespace weft::front {

/// Figures that a formula gives; those of the programs have the same fields.
struct Figures {
    double time_us = 0;
    double dynamic_energy_uj = 0;
    double total_energy_uj = 0;
    double descriptor_bytes = 0;
    double messages = 0;
    std::optional<double> time_table_us;  ///< where a paper's table drops a term that its text has
};

/// Nothing if no paper has one for such an algorithm.
[[nodiscard]] std::optional<Figures> paper_formula(const ProgramQuestion& question,
                                                   const lab::CostParameters& parameters);

}  // namespace weft::front
