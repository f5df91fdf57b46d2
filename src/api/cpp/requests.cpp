// SPDX-License-Identifier: BSD-3-Clause
// requests.cpp - started and prepared calls of the C++ interface.
#include "api/cpp/links.hpp"

namespace weft {

using detail::team_for_call;

namespace {

/// Returns the runtime of a request. Throws an Error if it has ended, and in a forked child.
run::Runtime& runtime_of(const detail::RuntimeLink& link) {
    detail::refuse_forks();
    if (link.runtime == nullptr)
        throw Error(Status::argument, "the runtime of the request has ended");
    return *link.runtime;
}

}  // namespace

// --- started calls -------------------------------------------------------------------------------

Request::Request() noexcept = default;
Request::Request(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Request::Request(Request&& other) noexcept = default;
Request& Request::operator=(Request&& other) noexcept = default;
Request::~Request() = default;

bool Request::test() {
    if (!state_) return true;
    run::Runtime& runtime = runtime_of(*state_->runtime);
    if (state_->operation == nullptr) {
        runtime.progress().drive();
        const auto done = state_->await({.at_ns = 0});
        if (!done && done.failure().status == Status::timeout) return false;
        state_.reset();
        detail::succeed(done);
        return true;
    }
    if (!runtime.progress().test(*state_->operation)) return false;
    wait();
    return true;
}

void Request::wait() {
    if (!state_) return;
    run::EngineProgress& calls = runtime_of(*state_->runtime).progress();
    const std::unique_ptr<State> state = std::move(state_);  // the request is empty even on failure
    if (state->operation == nullptr) return detail::succeed(state->await({}));
    calls.wait(*state->operation);
    detail::succeed(calls.finish(*std::exchange(state->operation, nullptr)));
}

// --- prepared calls ------------------------------------------------------------------------------

struct PersistentRequest::State {
    std::shared_ptr<detail::TeamLink> team;
    Call call;
    Request current;  ///< the call in flight, or empty
};

PersistentRequest::PersistentRequest() noexcept = default;
PersistentRequest::PersistentRequest(PersistentRequest&& other) noexcept = default;
PersistentRequest& PersistentRequest::operator=(PersistentRequest&& other) noexcept = default;
PersistentRequest::~PersistentRequest() = default;

void PersistentRequest::start() {
    if (!state_) throw Error(Status::argument, "start: no call has been prepared");
    if (state_->current.state_)
        throw Error(Status::argument,
                    "start: the call is in flight: complete it by wait() or test()");
    run::Operation* const operation =
        detail::succeed(team_for_call(state_->team).start(state_->call));
    state_->current = Request(std::make_unique<Request::State>(state_->team->runtime, operation));
}
bool PersistentRequest::test() {
    return !state_ || state_->current.test();
}
void PersistentRequest::wait() {
    if (state_) state_->current.wait();
}

// --- functions of teams that return requests -----------------------------------------------------

Request Team::start(const Call& call) {
    run::Operation* const operation = detail::succeed(team_for_call(link_).start(call));
    return Request(std::make_unique<Request::State>(link_->runtime, operation));
}

Request OneSidedCalls::start_put(void* dst, const void* src, std::size_t bytes, Rank peer) {
    run::Team& team = team_for_call(link_);
    auto state = std::make_unique<Request::State>(link_->runtime);
    detail::succeed(link_->owner->remote(team, link_->stream)
                        .start_put(dst, src, bytes, peer, state->transfer));
    return Request(std::move(state));
}
Request OneSidedCalls::start_get(void* dst, const void* src, std::size_t bytes, Rank peer,
                                 std::shared_ptr<void> kept) {
    run::Team& team = team_for_call(link_);
    auto state = std::make_unique<Request::State>(link_->runtime);
    detail::succeed(link_->owner->remote(team, link_->stream)
                        .start_get(dst, src, bytes, peer, state->transfer, std::move(kept)));
    return Request(std::move(state));
}

PersistentRequest Team::prepare(const Call& call) {
    Call prepared = detail::succeed(team_for_call(link_).prepare(call));
    PersistentRequest request;
    request.state_ = std::make_unique<PersistentRequest::State>(
        PersistentRequest::State{link_, std::move(prepared), {}});
    return request;
}

}  // namespace weft
