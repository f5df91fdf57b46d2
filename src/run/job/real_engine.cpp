// SPDX-License-Identifier: BSD-3-Clause
#include "run/job/real_engine.hpp"

#include "run/execute/engine_failures.hpp"

namespace weft::run {

static_assert(Network<link::Wire> && Driver<RealEngine>);
// Each request may close a batch, and one is open.
static_assert(OneSidedArea::kSlotsMax < link::WriteCounts::kBatches);

template class Engine<link::Wire>;
template class OneSided<link::Wire, RealEngine>;
template class Messages<link::Wire>;
template class ProgressThread<link::Wire>;

}  // namespace weft::run
