// SPDX-License-Identifier: BSD-3-Clause
// fit_report.hpp - what `weft fit` makes of what it has measured: the costs of a file.
//
// Holds    What a message takes is issue, latency and receive. Near, that is a flag that two pass
//          to each other, and a call; far, the mean of a call that goes one way and an exchange,
//          since in the latter each rank has to send before it can receive. Near puts take their
//          sender and their receiver what a call of a stream takes beyond entering it. Each cost is
//          made of times of one pass.
// Next     lab/measure/passes.hpp for which; docs/selection.md for the file.
#pragma once

#include <vector>

#include "front/cli/command.hpp"
#include "front/cli/fit_measure.hpp"
#include "lab/measure/passes.hpp"

namespace weft::front {

/// By what passes are compared.
[[nodiscard]] lab::Pass seen_of(const FitPass& pass);

/// Contents of the file, out of these passes.
[[nodiscard]] Json report_of(Runtime& runtime, const std::vector<FitPass>& passes,
                             const std::vector<lab::Pass>& seen, const lab::ChosenPasses& chosen);
void print_text(const Json& report);

/// To stderr.
void print_pass(const lab::Pass& seen, std::size_t number, int passes);
void print_modes(const lab::ChosenPasses& chosen);

}  // namespace weft::front
