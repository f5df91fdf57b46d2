// SPDX-License-Identifier: BSD-3-Clause
// engine_options.hpp - settings of an engine.
#pragma once

#include "run/execute/turn.hpp"
#include "run/execute/watchdog.hpp"

namespace weft::run {

class Recorder;

struct EngineOptions {
    WatchdogOptions watchdog;
    /// If divided, calls never take the fused path, which keeps the turn while it waits.
    Turn::Kind turn = Turn::Kind::own;
    Recorder* recorder = nullptr;  ///< if given, every call is recorded
};

}  // namespace weft::run
