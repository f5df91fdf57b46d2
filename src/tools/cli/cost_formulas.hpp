// SPDX-License-Identifier: BSD-3-Clause
// cost_formulas.hpp - costs of an algorithm by papers' formulas, in the fields of `weft cost`.
//
// Next     tools/lab/cost/formulas.hpp for the formulas with the papers' own arguments.
#pragma once

#include <optional>

#include "tools/cli/program_options.hpp"
#include "tools/lab/cost/cost.hpp"

namespace weft::tools {

/// Results of a formula; counted results have the same fields.
struct Figures {
    double time_us = 0;
    double dynamic_energy_uj = 0;
    double total_energy_uj = 0;
    double descriptor_bytes = 0;
    double messages = 0;
    std::optional<double> time_table_us;  ///< if the table of a paper drops a term of its text
};

/// Returns nothing if no paper has a formula for such an algorithm.
[[nodiscard]] std::optional<Figures> paper_formula(const ProgramQuestion& question,
                                                   const lab::CostParameters& parameters);

}  // namespace weft::tools
