// SPDX-License-Identifier: BSD-3-Clause
// requests.cpp - started and prepared calls of the C++ interface.
#include "front/cpp_api/links.hpp"
#include "run/runtime/shapes.hpp"

namespace weft {

using detail::team_of;

namespace {

/// The engine that drives a started call.
run::RealEngine& engine_of(const std::shared_ptr<detail::RuntimeLink>& link) {
    if (link->runtime == nullptr)
        throw Error(Status::argument, "the runtime of the request is gone");
    return link->runtime->engine();
}

void check(const run::Operation& operation) {
    if (operation.state == run::Operation::State::failed) detail::raise(operation.failure);
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
    run::RealEngine& engine = engine_of(state_->runtime);
    if (!engine.ended(*state_->operation)) engine.poll();
    if (!engine.ended(*state_->operation)) {
        engine.relax();
        return false;
    }
    const std::unique_ptr<State> ended = std::move(state_);
    check(*ended->operation);
    return true;
}

void Request::wait() {
    if (!state_) return;
    run::RealEngine& engine = engine_of(state_->runtime);
    const std::unique_ptr<State> ended = std::move(state_);
    engine.wait(*ended->operation);
    check(*ended->operation);
}

// --- prepared calls ------------------------------------------------------------------------------

struct PersistentRequest::State {
    std::shared_ptr<detail::TeamLink> team;
    run::CallShape shape;
    run::Buffers buffers;
    std::shared_ptr<const void> user;  ///< what the shape refers to
    std::unique_ptr<const run::HeldBlocks> blocks;
    Request current;
};

PersistentRequest::PersistentRequest() noexcept = default;
PersistentRequest::PersistentRequest(PersistentRequest&& other) noexcept = default;
PersistentRequest& PersistentRequest::operator=(PersistentRequest&& other) noexcept = default;
PersistentRequest::~PersistentRequest() = default;

void PersistentRequest::start() {
    if (!state_) throw Error(Status::argument, "start: no call has been prepared");
    if (state_->current.state_)
        throw Error(Status::argument, "start: the call is in flight; wait() or test() ends that");
    run::Operation* const operation =
        detail::succeed(team_of(state_->team).start(state_->shape, state_->buffers));
    state_->current = Request(std::make_unique<Request::State>(state_->team->runtime, operation));
}
bool PersistentRequest::test() {
    return !state_ || state_->current.test();
}
void PersistentRequest::wait() {
    if (state_) state_->current.wait();
}

// --- what teams make of them ---------------------------------------------------------------------

Request Team::start(const Call& call) {
    run::Operation* const operation = detail::succeed(
        team_of(link_).start(detail::succeed(run::shape_of(call)), {call.in, call.out}));
    return Request(std::make_unique<Request::State>(link_->runtime, operation));
}

Request Team::start_barrier() {
    return start(Call::barrier());
}
Request Team::start_broadcast(void* buffer, std::size_t count, Type type, Rank root) {
    return start(Call::broadcast(buffer, count, type, root));
}
Request Team::start_allreduce(const void* in, void* out, std::size_t count, Type type, Op op) {
    return start(Call::allreduce(in, out, count, type, op));
}
Request Team::start_allreduce(const void* in, void* out, std::size_t count, const UserOp& op) {
    return start(Call::allreduce(in, out, count, op));
}
Request Team::start_reduce(const void* in, void* out, std::size_t count, Type type, Op op,
                           Rank root) {
    return start(Call::reduce(in, out, count, type, op, root));
}
Request Team::start_reduce(const void* in, void* out, std::size_t count, const UserOp& op,
                           Rank root) {
    return start(Call::reduce(in, out, count, op, root));
}

PersistentRequest Team::prepare(const Call& call) {
    run::CallShape shape = team_of(link_).as_seen(detail::succeed(run::shape_of(call)));
    detail::succeed(team_of(link_).prepare(shape, {call.in, call.out}));
    auto blocks = std::make_unique<const run::HeldBlocks>(shape.in, shape.out);
    shape.in = blocks->in();
    shape.out = blocks->out();
    PersistentRequest request;
    request.state_ = std::make_unique<PersistentRequest::State>(PersistentRequest::State{
        link_, shape, {call.in, call.out}, call.user, std::move(blocks), {}});
    return request;
}

PersistentRequest Team::prepare_barrier() {
    return prepare(Call::barrier());
}
PersistentRequest Team::prepare_broadcast(void* buffer, std::size_t count, Type type, Rank root) {
    return prepare(Call::broadcast(buffer, count, type, root));
}
PersistentRequest Team::prepare_allreduce(const void* in, void* out, std::size_t count, Type type,
                                          Op op) {
    return prepare(Call::allreduce(in, out, count, type, op));
}
PersistentRequest Team::prepare_allreduce(const void* in, void* out, std::size_t count,
                                          const UserOp& op) {
    return prepare(Call::allreduce(in, out, count, op));
}
PersistentRequest Team::prepare_reduce(const void* in, void* out, std::size_t count, Type type,
                                       Op op, Rank root) {
    return prepare(Call::reduce(in, out, count, type, op, root));
}
PersistentRequest Team::prepare_reduce(const void* in, void* out, std::size_t count,
                                       const UserOp& op, Rank root) {
    return prepare(Call::reduce(in, out, count, op, root));
}

}  // namespace weft
