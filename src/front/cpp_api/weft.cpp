// SPDX-License-Identifier: BSD-3-Clause
// weft.cpp - the C++ interface over the runtime: failures become exceptions, handles become objects.
#include "weft/weft.hpp"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "run/runtime/runtime.hpp"

namespace weft {

namespace {

[[noreturn]] void raise(const base::Failure& failure) {
    throw Error(failure.status, failure.text);
}

void succeed(const base::Result<void>& result) {
    if (!result) [[unlikely]]
        raise(result.failure());
}

template <class T>
T succeed(base::Result<T> result) {
    if (!result) raise(result.failure());
    return std::move(*result);
}

run::Team& team_of(void* team) {
    if (team == nullptr) [[unlikely]]
        throw Error(Status::argument, "the team has been freed");
    return *static_cast<run::Team*>(team);
}
run::Runtime& runtime_of(void* runtime) {
    return *static_cast<run::Runtime*>(runtime);
}

run::CallShape broadcast_shape(std::size_t count, Type type, Rank root) {
    return {.kind = run::Kind::broadcast, .type = type, .root = root, .elements = count};
}

run::CallShape allreduce_shape(std::size_t count, Type type, Op op) {
    return {.kind = run::Kind::allreduce, .type = type, .op = op, .elements = count};
}

run::CallShape allreduce_shape(std::size_t count, const run::UserOperation* user) {
    return {.kind = run::Kind::allreduce,
            .type = Type::user,
            .op = Op::user,
            .elements = count,
            .user = user,
            .user_serial = user->serial};
}

run::Kind kind_named(std::string_view name) {
    const auto found = std::ranges::find(run::kKindNames, name);
    if (found == run::kKindNames.end())
        throw Error(Status::argument, fmt::format("no collective \"{}\", expected one of: {}", name,
                                                  fmt::join(run::kKindNames, " ")));
    return static_cast<run::Kind>(found - run::kKindNames.begin());
}

}  // namespace

// --- user operations -----------------------------------------------------------------------------

namespace {

/// A number that no operation of this process had before.
std::uint64_t next_serial() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

}  // namespace

UserOp::UserOp(UserFunction function, void* argument, std::size_t element_bytes, bool commutative)
    : held_(std::make_shared<const run::UserOperation>(
          run::UserOperation{.function = function,
                             .argument = argument,
                             .commutative = commutative,
                             .element_bytes = element_bytes,
                             .serial = next_serial()})) {
    if (function == nullptr) throw Error(Status::argument, "UserOp: function is null");
    if (element_bytes == 0)
        throw Error(Status::argument, "UserOp: element_bytes is 0, expected 1 or more");
}

// --- requests ------------------------------------------------------------------------------------

struct Request::State {
    run::RealEngine& engine;
    run::Operation* operation;

    ~State() { engine.release(*operation); }
    void check() const {
        if (operation->state == run::Operation::State::failed) raise(operation->failure);
    }
};

Request::Request() noexcept = default;
Request::Request(Request&& other) noexcept = default;
Request& Request::operator=(Request&& other) noexcept = default;
Request::~Request() = default;

bool Request::test() {
    if (!state_) return true;
    if (!state_->engine.ended(*state_->operation)) state_->engine.poll();
    if (!state_->engine.ended(*state_->operation)) return false;
    const std::unique_ptr<State> ended = std::move(state_);
    ended->check();
    return true;
}

void Request::wait() {
    if (!state_) return;
    const std::unique_ptr<State> ended = std::move(state_);
    ended->engine.wait(*ended->operation);
    ended->check();
}

// --- teams ---------------------------------------------------------------------------------------

Rank Team::rank() const {
    return team_of(team_).rank();
}
Rank Team::size() const {
    return team_of(team_).size();
}

void Team::barrier() {
    succeed(team_of(team_).call({.kind = run::Kind::barrier}, {}));
}

void Team::broadcast(void* buffer, std::size_t count, Type type, Rank root) {
    succeed(team_of(team_).call(broadcast_shape(count, type, root), {buffer, buffer}));
}

void Team::allreduce(const void* in, void* out, std::size_t count, Type type, Op op) {
    succeed(team_of(team_).call(allreduce_shape(count, type, op), {in, out}));
}

void Team::allreduce(const void* in, void* out, std::size_t count, const UserOp& op) {
    const auto* user = static_cast<const run::UserOperation*>(op.held_.get());
    succeed(team_of(team_).call(allreduce_shape(count, user), {in, out}));
}

namespace {

run::Operation* start(void* team, const run::CallShape& shape, run::Buffers buffers) {
    return succeed(team_of(team).start(shape, buffers));
}

}  // namespace

Request Team::start_barrier() {
    Request request;
    request.state_.reset(new Request::State{runtime_of(runtime_).engine(),
                                            start(team_, {.kind = run::Kind::barrier}, {})});
    return request;
}

Request Team::start_broadcast(void* buffer, std::size_t count, Type type, Rank root) {
    Request request;
    request.state_.reset(
        new Request::State{runtime_of(runtime_).engine(),
                           start(team_, broadcast_shape(count, type, root), {buffer, buffer})});
    return request;
}

Request Team::start_allreduce(const void* in, void* out, std::size_t count, Type type, Op op) {
    Request request;
    request.state_.reset(new Request::State{
        runtime_of(runtime_).engine(), start(team_, allreduce_shape(count, type, op), {in, out})});
    return request;
}

Request Team::start_allreduce(const void* in, void* out, std::size_t count, const UserOp& op) {
    const auto* user = static_cast<const run::UserOperation*>(op.held_.get());
    Request request;
    request.state_.reset(new Request::State{runtime_of(runtime_).engine(),
                                            start(team_, allreduce_shape(count, user), {in, out})});
    return request;
}

std::optional<Team> Team::split(int color, int key) {
    run::Team* team = succeed(team_of(team_).split(color, key));
    if (team == nullptr) return std::nullopt;
    return Team(team, runtime_);
}

void Team::free() {
    if (team_of(team_).id() == 0) throw Error(Status::argument, "free: the world team stays");
    succeed(team_of(team_).release());
    team_ = nullptr;
}

void Team::set_algorithm(std::string_view collective, std::string_view spec) {
    succeed(team_of(team_).force(kind_named(collective), spec));
}

std::string Team::algorithm_of(std::string_view collective, std::size_t count, Type type) const {
    return succeed(team_of(team_).plans().choose(
        {.kind = kind_named(collective), .type = type, .root = 0, .elements = count}));
}

// --- runtime -------------------------------------------------------------------------------------

struct Runtime::State {
    std::unique_ptr<run::Runtime> runtime;
};

Runtime::Runtime() : state_(std::make_unique<State>()) {
    state_->runtime = succeed(run::Runtime::create(environ));
}
Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&&) noexcept = default;
Runtime::~Runtime() = default;

Team Runtime::world() noexcept {
    return Team(&state_->runtime->world(), state_->runtime.get());
}
void Runtime::finalize() {
    succeed(state_->runtime->finalize());
}
void Runtime::progress() {
    state_->runtime->progress();
}
void* Runtime::allocate(std::size_t bytes, std::size_t alignment) {
    return succeed(state_->runtime->allocate(bytes, alignment));
}
void Runtime::release(void* memory) {
    succeed(state_->runtime->free(static_cast<std::byte*>(memory)));
}
int Runtime::nodes() const noexcept {
    return state_->runtime->job().nodes;
}
std::string Runtime::provider() const {
    return state_->runtime->job().provider;
}
std::string Runtime::notify() const {
    return state_->runtime->job().nodes_linked() ? "immediate" : "none";
}

}  // namespace weft
