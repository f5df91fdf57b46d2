// SPDX-License-Identifier: BSD-3-Clause
// real_engine.hpp - the engine over the real wire, compiled in real_engine.cpp.
//
// Why      Other sources only use the engine's name (runtime.hpp, team.hpp). So a change inside the
//          engine recompiles this room, but not the public interfaces.
// Next     run/execute/engine.hpp.
#pragma once

#include "link/wire/wire.hpp"
#include "run/execute/engine.hpp"
#include "run/execute/progress_thread.hpp"
#include "run/onesided/messages.hpp"
#include "run/onesided/onesided.hpp"

namespace weft::run {

extern template class Engine<link::Wire>;
class RealEngine final : public Engine<link::Wire> {
    using Engine::Engine;
};

extern template class OneSided<link::Wire, RealEngine>;
class RealOneSided final : public OneSided<link::Wire, RealEngine> {
    using OneSided::OneSided;
};

extern template class Messages<link::Wire>;
class RealMessages final : public Messages<link::Wire> {
    using Messages::Messages;
};

extern template class ProgressThread<link::Wire>;
class RealProgressThread final : public ProgressThread<link::Wire> {
    using ProgressThread::ProgressThread;
};

}  // namespace weft::run
