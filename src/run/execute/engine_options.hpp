// SPDX-License-Identifier: BSD-3-Clause
// engine_options.hpp - what an engine is told when it is made.
#pragma once

#include "run/execute/turn.hpp"
#include "run/execute/watchdog.hpp"

namespace weft::run {

class Recorder;

struct EngineOptions {
    WatchdogOptions watchdog;
    /// Divided: calls never take the fused path, which keeps the turn while it waits.
    Turn::Kind turn = Turn::Kind::own;
    Recorder* recorder = nullptr;  ///< told what calls do, if they are made by run_recorded()
};

}  // namespace weft::run
