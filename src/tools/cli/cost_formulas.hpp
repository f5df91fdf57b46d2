// SPDX-License-Identifier: BSD-3-Clause
// cost_formulas.hpp - formulas of papers for the calls of `weft cost`.
#pragma once

#include <optional>

#include "tools/cli/program_options.hpp"
#include "tools/lab/cost/parameters.hpp"

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

/// Returns the costs of the call by the formula of a paper, or nothing if its algorithm has none.
[[nodiscard]] std::optional<Figures> formula_of(const ProgramQuestion& question,
                                                const lab::CostParameters& parameters);

}  // namespace weft::tools
