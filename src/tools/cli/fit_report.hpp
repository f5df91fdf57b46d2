// SPDX-License-Identifier: BSD-3-Clause
// fit_report.hpp - costs that `weft fit` derives from its measurements, for a file.
//
// Holds    The time of a message is issue + latency + receive. Locally, this is the time of a flag
//          between two ranks, and of a call. Remotely, it is the mean of a one-way call and an
//          exchange, because in an exchange each rank must send before it receives. A local put
//          costs its sender and receiver the time of a call in a stream, without entering it. All
//          times of a cost come from one pass.
// Next     tools/measure/passes.hpp for the pass; docs/selection.md for the file.
#pragma once

#include <vector>

#include "tools/cli/command.hpp"
#include "tools/cli/fit_measure.hpp"
#include "tools/measure/passes.hpp"

namespace weft::tools {

/// Returns the values by which passes are compared.
[[nodiscard]] lab::Pass seen_of(const FitPass& pass);

/// Returns the contents of the file.
[[nodiscard]] Json report_of(Runtime& runtime, const std::vector<FitPass>& passes,
                             const std::vector<lab::Pass>& seen, const lab::ChosenPasses& chosen);
void print_text(const Json& report);

/// Print to stderr.
void print_pass(const lab::Pass& seen, std::size_t number, int passes);
void print_modes(const lab::ChosenPasses& chosen);

}  // namespace weft::tools
