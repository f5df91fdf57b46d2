// SPDX-License-Identifier: BSD-3-Clause
// call_tables.hpp - tables of WEFT_STATS=1 about calls: number and time by kind, waits for peers,
// and bytes by transfer method.
//
// Next     recorder.hpp for the counts; statistics.hpp for the table of buffers.
#pragma once

#include <string>
#include <vector>

#include "run/observe/recorder.hpp"

namespace weft::run {

/// Returns the counts of this rank as text for call_tables().
[[nodiscard]] std::string packed_calls(const Recorder& recorder, const MappedBytes& moved);
/// Returns the lines of the tables, from the texts of all ranks.
[[nodiscard]] std::vector<std::string> call_tables(const std::vector<std::string>& ranks);

}  // namespace weft::run
