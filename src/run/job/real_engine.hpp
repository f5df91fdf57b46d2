// SPDX-License-Identifier: BSD-3-Clause
// real_engine.hpp - the engine over the real wire, compiled in real_engine.cpp.
//
// Why      Other headers only declare the classes of this file. So a change inside the engine
//          recompiles files of src/run, but not those of src/api.
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

/// Waits until all puts and gets of this rank are complete, locally and at its peers.
[[nodiscard]] base::Result<void> settle(RealEngine& engine, RealOneSided& onesided);

/// Registers memory at an offset of this rank's segment with the network, for remote peers.
[[nodiscard]] base::Result<void> prepare_memory(RealEngine& engine, link::Wire& wire,
                                                std::uint64_t offset, std::uint64_t bytes);

extern template class ProgressThread<link::Wire>;
class RealProgressThread final : public ProgressThread<link::Wire> {
    using ProgressThread::ProgressThread;
};

}  // namespace weft::run
