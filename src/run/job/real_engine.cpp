// SPDX-License-Identifier: BSD-3-Clause
#include "run/job/real_engine.hpp"

#include "run/execute/engine_failures.hpp"

namespace weft::run {

static_assert(Network<link::Wire> && Driver<RealEngine>);
// Each request in flight may close a batch of writes, and one more batch is open.
static_assert(OneSidedArea::kSlotsMax < link::WriteCounts::kBatches);

template class Engine<link::Wire>;
template class OneSided<link::Wire, RealEngine>;
template class Messages<link::Wire>;
template class ProgressThread<link::Wire>;

base::Result<void> settle(RealEngine& engine, RealOneSided& onesided) {
    const Turn::Hold hold = engine.take_turn();
    if (onesided.quiet_all()) return {};
    return engine.failure();
}

base::Result<void> prepare_memory(RealEngine& engine, link::Wire& wire, std::uint64_t offset,
                                  std::uint64_t bytes) {
    const Turn::Hold hold = engine.take_turn();
    return wire.memory().use_memory(offset, bytes);
}

}  // namespace weft::run
