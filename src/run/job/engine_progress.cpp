// SPDX-License-Identifier: BSD-3-Clause
#include "run/job/engine_progress.hpp"

#include "run/job/real_engine.hpp"

namespace weft::run {

EngineProgress::EngineProgress(const Job& job, RealEngine& engine)
    : job_(job), engine_(engine), external_(engine.external()), is_asked_(job.nodes_linked()) {}

EngineProgress::~EngineProgress() = default;

void EngineProgress::drive() {
    if (!closed_ && !external_.running()) engine_.poll(Caller::polls);
}

void EngineProgress::set_external(void (*function)(void* argument), void* argument) {
    const Turn::Hold hold = engine_.take_turn();
    external_.set(function, argument);
    if (!closed_) job_.wire->waiter().allow_sleep(function == nullptr);
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
