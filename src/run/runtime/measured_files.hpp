// SPDX-License-Identifier: BSD-3-Clause
// measured_files.hpp - what a job knows of its machine from files: costs (WEFT_PARAMETERS, as
// `weft fit` writes them) and choices of algorithms (WEFT_TUNING, as `weft tune` does).
//
// Holds    All ranks decide by what is in the files, so start-up compares their contents; the names
//          of the files may differ.
// Next     plan/select/measured_costs.hpp, plan/select/tuning.hpp; docs/selection.md.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/environment.hpp"
#include "base/result.hpp"
#include "link/direct/seen_buffers.hpp"
#include "plan/select/measured_costs.hpp"
#include "plan/select/tuning.hpp"

namespace weft::run {

inline constexpr std::string_view kTuningSchema = "weft-tuning-1";
inline constexpr std::string_view kParametersSchema = "weft-parameters-1";

inline constexpr std::size_t kMeasuredBytesMax = std::size_t{64} << 20;  ///< of a file

struct MeasuredFiles {
    plan::MeasuredCosts costs;
    plan::Tuning tuning;
};

/// Reads the files that the settings name, and puts what all ranks must agree about into them.
[[nodiscard]] base::Result<MeasuredFiles> read_measured_files(base::Settings& settings);

/// When adopting a buffer pays, by these costs; the rest is as on the reference machine.
[[nodiscard]] link::AdoptionPrices prices_by(const plan::MeasuredCosts& costs);

/// The text of a tuning file; `name` is said where choices are from.
[[nodiscard]] base::Result<plan::Tuning> parse_tuning(std::string_view text, std::string name);
[[nodiscard]] base::Result<plan::Tuning> read_tuning(const std::string& path);

/// The text of a file of parameters, in JSON or as lines `key value`, as far as it concerns a
/// machine.
[[nodiscard]] base::Result<plan::MeasuredCosts> parse_costs(std::string_view text);

}  // namespace weft::run
