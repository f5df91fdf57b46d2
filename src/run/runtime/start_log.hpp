// SPDX-License-Identifier: BSD-3-Clause
// start_log.hpp - what is logged when a job has started: unknown settings, what it got, and why.
//
// Next     describe.hpp for the same as values; base/log.hpp for where the lines go.
#pragma once

#include "run/runtime/runtime.hpp"

namespace weft::run {

/// With WEFT_LOG=info at most ten lines. Where a network joins the nodes, asking it for its reasons
/// takes a third of a second.
void log_start(const Runtime& runtime);

/// What this rank moved between its memory and that of node-mates, when a job ends.
void log_end(const Runtime& runtime, const MappedBytes& moved);

}  // namespace weft::run
