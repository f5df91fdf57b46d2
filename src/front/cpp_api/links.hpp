// SPDX-License-Identifier: BSD-3-Clause
// links.hpp - what handles of the C++ interface hold, so that one that is stale is refused.
//
// Idea     Copies of a handle share a link; freeing the team, or the end of the runtime, empties
//          it.
// Holds    A call follows one pointer more than it would without.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/fork_guard.hpp"
#include "run/runtime/runtime.hpp"
#include "weft/weft.hpp"

namespace weft {

namespace detail {

struct RuntimeLink {
    run::Runtime* runtime = nullptr;  ///< nullptr once it is gone
    std::vector<std::shared_ptr<TeamLink>> teams;
    std::mutex mutex;  ///< of `teams`: threads may make and end some at once
};

struct TeamLink {
    run::Team* team = nullptr;  ///< nullptr once freed or gone
    std::shared_ptr<RuntimeLink> runtime;
    run::Stream* stream = nullptr;  ///< of a context; nullptr: the team itself
};

[[noreturn]] inline void raise(const base::Failure& failure) {
    throw Error(failure.status, failure.text);
}

inline void succeed(const base::Result<void>& result) {
    if (!result) [[unlikely]]
        raise(result.failure());
}

template <class T>
T succeed(base::Result<T> result) {
    if (!result) [[unlikely]]
        raise(result.failure());
    return std::move(*result);
}

/// Throws in a forked child.
inline void refuse_forks() {
    if (base::is_forked_child()) [[unlikely]]
        raise(base::fork_failure());
}

[[nodiscard]] inline run::Team& team_of(const std::shared_ptr<TeamLink>& link) {
    refuse_forks();
    if (link == nullptr || link->team == nullptr) [[unlikely]]
        throw Error(Status::argument, link != nullptr && link->runtime->runtime == nullptr
                                          ? "the runtime of the team is gone"
                                          : "the team has been freed, or never was one");
    return *link->team;
}

/// The link of a team that has none yet.
[[nodiscard]] std::shared_ptr<TeamLink> link_to(run::Team& team,
                                                const std::shared_ptr<RuntimeLink>& runtime);
/// All handles of the team are refused from now on.
void cut(TeamLink& link) noexcept;

}  // namespace detail

struct Request::State {
    std::shared_ptr<detail::RuntimeLink> runtime;
    run::Operation* operation;  ///< nullptr: finished

    State(std::shared_ptr<detail::RuntimeLink> from, run::Operation* started)
        : runtime(std::move(from)), operation(started) {}
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        if (operation != nullptr && runtime->runtime != nullptr && !base::is_forked_child())
            runtime->runtime->release(*operation);
    }
};

}  // namespace weft
