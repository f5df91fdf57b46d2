// SPDX-License-Identifier: BSD-3-Clause
#include "run/job/real_engine.hpp"

#include "run/job/engine_progress.hpp"

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

EngineProgress::EngineProgress(const Job& job, RealEngine& engine)
    : job_(job), engine_(engine), external_(engine.external()), may_serve_(job.nodes_linked()) {}

EngineProgress::~EngineProgress() = default;

void EngineProgress::drive() {
    if (!closed_ && !external_.running()) engine_.poll(Caller::polls);
}

void EngineProgress::drive_if_free() {
    if (!engine_.shares_turn())
        drive();
    else if (!closed_ && !external_.running())
        static_cast<void>(engine_.help());
}

void EngineProgress::set_external(void (*function)(void* argument), void* argument) {
    const Turn::Hold hold = engine_.take_turn();
    external_.set(function, argument);
    if (!closed_) job_.wire->waiter().allow_sleep(function == nullptr);
}

bool EngineProgress::ended(const Operation& operation) {
    return engine_.ended(operation);
}

bool EngineProgress::test(const Operation& operation) {
    if (engine_.ended(operation)) return true;
    engine_.poll();
    if (engine_.ended(operation)) return true;
    engine_.relax();
    return false;
}

void EngineProgress::wait(Operation& operation) {
    engine_.wait(operation);
}

bool EngineProgress::wait(Operation& operation, base::Deadline deadline) {
    // Does not use Engine::await(), which restarts the watchdog's timer. A caller that waits in
    // short slices would then never be told of a mismatch or an exceeded time limit.
    while (!test(operation))
        if (deadline.passed()) return false;
    return true;
}

base::Result<void> EngineProgress::finish(Operation& operation) {
    base::Result<void> outcome;
    if (operation.state == Operation::State::failed) outcome = operation.failure;
    engine_.release(operation);
    return outcome;
}

void EngineProgress::release(Operation& operation) {
    engine_.release(operation);
}

void EngineProgress::start_thread() {
    thread_ = std::make_unique<RealProgressThread>(engine_);
}

void EngineProgress::wake_thread() {
    if (thread_) thread_->wake();
}

void EngineProgress::close() {
    closed_ = true;
    thread_.reset();
}

}  // namespace weft::run
