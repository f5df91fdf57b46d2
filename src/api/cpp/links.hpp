// SPDX-License-Identifier: BSD-3-Clause
// links.hpp - shared state of handles in the C++ interface, by which stale handles are refused.
//
// Idea     Copies of a handle share a link to the object. The link is emptied when the team is
//          freed or the runtime ends. It costs each call one more indirection.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/fork_guard.hpp"
#include "run/runtime.hpp"
#include "weft/weft.hpp"

namespace weft {

namespace detail {

/// Link of a Runtime.
struct RuntimeLink {
    run::Runtime* runtime = nullptr;  ///< nullptr after the runtime has ended
    std::vector<std::shared_ptr<TeamLink>> teams;
    std::mutex mutex;  ///< protects `teams`: threads may make and end teams at once
};

/// Link of a Team.
struct TeamLink {
    run::Team* team = nullptr;      ///< nullptr after the team has ended
    run::Runtime* owner = nullptr;  ///< runtime of the team
    std::shared_ptr<RuntimeLink> runtime;
    run::Stream* stream = nullptr;  ///< stream of a context; nullptr: the handle is a team
};

[[noreturn]] inline void raise(const base::Failure& failure) {
    throw Error(failure.status, failure.text);
}

/// Return the value of a result, or throw its failure as an Error.
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

/// Throws an Error in a forked child.
inline void refuse_forks() {
    if (base::is_forked_child()) [[unlikely]]
        raise(base::fork_failure());
}

/// Returns the team of a handle. Throws an Error if it has ended, and in a forked child.
[[nodiscard]] inline run::Team& team_of(const std::shared_ptr<TeamLink>& link) {
    refuse_forks();
    if (link == nullptr || link->team == nullptr) [[unlikely]]
        throw Error(Status::argument, link != nullptr && link->runtime->runtime == nullptr
                                          ? "the runtime of the team has ended"
                                          : "the handle has no team, or its team has been freed");
    return *link->team;
}
/// Like team_of(). Also throws an Error in a handler of active messages, which may not wait.
[[nodiscard]] inline run::Team& team_for_call(const std::shared_ptr<TeamLink>& link) {
    run::Team& team = team_of(link);
    succeed(link->owner->messages().refuse_handlers());
    return team;
}

/// Throws an Error if the argument `name` is not a rank of a team of `size` members.
inline void check_rank(const char* name, Rank rank, Rank size) {
    if (rank < 0 || rank >= size) [[unlikely]]
        raise(base::fail(Status::argument, "{}: {} is not a rank of the team, expected 0..{}", name,
                         rank, size - 1));
}

/// Makes the link of a new team.
[[nodiscard]] std::shared_ptr<TeamLink> link_to(run::Team& team,
                                                const std::shared_ptr<RuntimeLink>& runtime);
/// Empties the links of a team and of its contexts, so that their handles are refused.
void empty_links(TeamLink& link) noexcept;

}  // namespace detail

struct Request::State {
    std::shared_ptr<detail::RuntimeLink> runtime;
    run::Operation* operation;  ///< collective in flight; nullptr: the call is a put or get
    run::Transfer transfer;

    explicit State(std::shared_ptr<detail::RuntimeLink> link, run::Operation* started = nullptr)
        : runtime(std::move(link)), operation(started) {}
    ~State() {
        if (operation != nullptr && runtime->runtime != nullptr && !base::is_forked_child())
            runtime->runtime->progress().release(*operation);
    }

    /// Waits for the transfer. Fails with Status::timeout after the deadline; does not drive if the
    /// deadline has passed.
    [[nodiscard]] base::Result<void> await(base::Deadline deadline) {
        return runtime->runtime->remote(runtime->runtime->world()).await(transfer, deadline);
    }
};

}  // namespace weft
