// SPDX-License-Identifier: BSD-3-Clause
// call_tables.hpp - what WEFT_STATS=1 says about calls: how many of which kind, their time, whom
// ranks waited for, and the bytes that went each way.
//
// Next     run/execute/recorder.hpp for who counts; statistics.hpp for the table of buffers.
#pragma once

#include <string>
#include <vector>

#include "run/execute/operation.hpp"
#include "run/execute/recorder.hpp"

namespace weft::run {

/// What a rank has counted, as text for call_tables().
[[nodiscard]] std::string packed_calls(const Recorder& recorder, const MappedBytes& moved);
/// Lines for people, from the texts of all ranks.
[[nodiscard]] std::vector<std::string> call_tables(const std::vector<std::string>& ranks);

}  // namespace weft::run
