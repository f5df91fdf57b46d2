// SPDX-License-Identifier: BSD-3-Clause
// measured_files.hpp - reads files about the machine: costs (WEFT_PARAMETERS, from `weft fit`) and
// choices of algorithms (WEFT_TUNING, from `weft tune`).
//
// Holds    All ranks decide by the contents of the files, so start-up compares them. The names of
//          the files may differ.
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

/// Reads the files that the settings name. Adds a summary of their contents to the settings, for
/// the comparison between ranks.
[[nodiscard]] base::Result<MeasuredFiles> read_measured_files(base::Settings& settings);

/// Returns prices of remapping from these costs. Missing ones are those of the reference machine.
[[nodiscard]] link::AdoptionPrices prices_by(const plan::MeasuredCosts& costs);

/// Parses the text of a tuning file. `name` appears in the reasons of choices.
[[nodiscard]] base::Result<plan::Tuning> parse_tuning(std::string_view text, std::string name);
[[nodiscard]] base::Result<plan::Tuning> read_tuning(const std::string& path);

/// Parses parameters, in JSON or as lines `key value`. Ignores keys of other readers.
[[nodiscard]] base::Result<plan::MeasuredCosts> parse_costs(std::string_view text);

}  // namespace weft::run
