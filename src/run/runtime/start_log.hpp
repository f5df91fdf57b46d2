// SPDX-License-Identifier: BSD-3-Clause
// start_log.hpp - logs a job's start (unknown settings, its facts and their reasons) and its end.
//
// Next     describe.hpp for the facts as values; base/log.hpp for the destination of the lines.
#pragma once

#include "run/runtime/runtime.hpp"

namespace weft::run {

/// Logs at most ten lines with WEFT_LOG=info. If a network joins the nodes, this takes a third of a
/// second, because the network is asked for its reasons.
void log_start(const Runtime& runtime);

/// Logs the data that this rank moved between its memory and local peers' memory.
void log_end(const Runtime& runtime, const MappedBytes& moved);

}  // namespace weft::run
